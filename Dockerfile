# svc alone: no shell, no libraries. CA certificates are for relays, whose
# service has an https address.
#   docker build --build-arg RELEASE=v1.2.3 -t svc .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG RELEASE=devel
ARG COMMIT=unknown
RUN make build RELEASE="$RELEASE" COMMIT="$COMMIT" && mkdir /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/bin/svc /svc
COPY --from=build /src/LICENSE /LICENSE
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
# What svc pull notes while it writes; the user has no home.
ENV XDG_STATE_HOME=/data/state
VOLUME /data
EXPOSE 6580 6581
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["/svc", "health"]
ENTRYPOINT ["/svc"]
CMD ["api", "--data", "/data/workspace", "--host", "0.0.0.0", "--allow-non-loopback"]
