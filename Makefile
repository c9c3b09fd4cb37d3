# What a newcomer needs: make run, make test. The rest is in make help.

RELEASE ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
STAMP    = -X svc.example/svc/devserver/command.Release=$(RELEASE) -X svc.example/svc/devserver/command.Commit=$(COMMIT)
STATIC   = CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w $(STAMP)"

EXAMPLE   = devserver/sample/directory
BROWSER   = devserver/browsertest
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# base64 of {"user":{"key":"user-1","plan":"pro"}}
TOKEN = eyJ1c2VyIjp7ImtleSI6InVzZXItMSIsInBsYW4iOiJwcm8ifX0

.PHONY: help run test check bench fuzz dist build clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## start both products on the example directory, ports 6580 and 6581
	@echo 'svc serve, for browsers: try this from another terminal, edit a file in'
	@echo '$(EXAMPLE), and try again:'
	@echo
	@echo '  curl http://127.0.0.1:6580/api/v2/configs/eval-with-context/$(TOKEN)'
	@echo
	@echo 'svc api, to change flags over HTTP: the first start prints a key to try it with.'
	@echo
	@bin/svc api --import $(EXAMPLE) --workspace example & api=$$!; \
	trap 'kill $$api 2>/dev/null; wait $$api' EXIT; trap 'exit 0' INT TERM; \
	bin/svc serve --datadir $(EXAMPLE)

build: ## build bin/svc
	@mkdir -p bin
	$(STATIC) -o bin/svc ./devserver/svc

test: check $(BROWSER)/node_modules/.package-lock.json ## run every test, with the race detector
	go test -race ./...

check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi
	go vet ./...

# The OpenFeature providers that tests drive. Without npm those tests are
# skipped and say so.
$(BROWSER)/node_modules/.package-lock.json: $(BROWSER)/package-lock.json
	@if command -v npm >/dev/null; then cd $(BROWSER) && npm ci --no-audit --no-fund --loglevel=error; \
	else echo 'npm is not installed: the OpenFeature provider tests will be skipped'; fi

bench: build ## measure, as ratios to a ceiling of the same run
	go build -o bin/bench ./infra/bench
	bin/bench -svc bin/svc

fuzz: ## run every fuzz target for a while (FUZZTIME=30s)
	@for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $${FUZZTIME:-30s} $$package || exit 1; \
		done; \
	done

dist: ## cross-compile static binaries into dist, with checksums
	@rm -rf dist && mkdir -p dist
	@for platform in $(PLATFORMS); do \
		os=$${platform%/*}; arch=$${platform#*/}; extension=; \
		if [ $$os = windows ]; then extension=.exe; fi; \
		echo "dist/svc_$${os}_$$arch$$extension"; \
		GOOS=$$os GOARCH=$$arch $(STATIC) -o dist/svc_$${os}_$$arch$$extension ./devserver/svc || exit 1; \
	done
	@cd dist && sha256sum svc_* > SHA256SUMS

clean: ## remove what was built
	rm -rf bin dist .svc-data $(BROWSER)/node_modules
