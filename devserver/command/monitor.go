package command

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/monitor"
	"svc.example/svc/devserver/server"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/ratelimit"
)

// monitorFlags are the flags of a server that others watch.
type monitorFlags struct {
	metricsAddress string
	logFormat      string
	accessLog      bool
}

// monitorNames are the names of these flags.
var monitorNames = []string{"metrics-address", "log-format", "access-log"}

func (f *monitorFlags) add(cmd *cobra.Command, where string) {
	cmd.Flags().StringVar(&f.metricsAddress, "metrics-address", "", where+"host and port that alone answers GET "+monitor.Path+", for Prometheus (default none)")
	cmd.Flags().StringVar(&f.logFormat, "log-format", "text", where+"form of the log on standard error: text or json")
	cmd.Flags().BoolVar(&f.accessLog, "access-log", false, where+"log each request: its route, status and duration, no key and no context")
}

// check refuses what can be seen to be wrong.
func (f monitorFlags) check(allowNonLoopback bool) error {
	if f.logFormat != "text" && f.logFormat != "json" {
		return cli.Usagef("--log-format %q: it is text or json", f.logFormat)
	}
	if f.metricsAddress == "" {
		return nil
	}
	host, port, err := f.place()
	if err != nil || port < 1 || port > 65535 {
		return cli.Usagef("--metrics-address %q: write host and port, like 127.0.0.1:9464", f.metricsAddress)
	}
	loopback, err := server.Loopback(host)
	if err == nil && !loopback && !allowNonLoopback {
		return cli.Usagef("--metrics-address %s can be reached from other machines; add --allow-non-loopback to confirm it", f.metricsAddress)
	}
	return err
}

func (f monitorFlags) place() (host string, port int, err error) {
	host, text, err := net.SplitHostPort(f.metricsAddress)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	return host, port, err
}

// logger writes in the form that is asked for.
func (f monitorFlags) logger(to io.Writer) *slog.Logger {
	if f.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, nil))
	}
	return slog.New(slog.NewTextHandler(to, nil))
}

// monitor makes one for a server, nil where nobody looks.
func (f monitorFlags) monitor(logger *slog.Logger, proxies ratelimit.Proxies) *monitor.Monitor {
	if f.metricsAddress == "" && !f.accessLog {
		return nil
	}
	m := monitor.New()
	m.Proxies = proxies
	if f.accessLog {
		m.Access = logger
	}
	return m
}

// listening is where a server listens, and where its metrics are asked for.
type listening struct{ server, metrics []net.Listener }

// listen opens the address of a server and, if it has one of its own, that of its
// metrics.
func (f monitorFlags) listen(host string, port int) (l listening, err error) {
	if l.server, err = server.Listen(host, port); err != nil || f.metricsAddress == "" {
		return l, err
	}
	metricsHost, metricsPort, err := f.place()
	if err == nil {
		l.metrics, err = server.Listen(metricsHost, metricsPort)
	}
	if err != nil {
		l.close()
	}
	return l, err
}

func (l listening) close() { server.Close(slices.Concat(l.server, l.metrics)) }

// serve answers until ctx is done, at the address of the metrics as long as at the
// other.
func (l listening) serve(ctx context.Context, handler http.Handler, endStreams func(), m *monitor.Monitor, logger *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var metrics sync.WaitGroup
	if len(l.metrics) > 0 {
		metrics.Go(func() {
			if err := server.Serve(ctx, l.metrics, m.Handler()); err != nil {
				logger.Error("metrics are no longer served", "error", err)
			}
		})
	}
	err := server.Serve(ctx, l.server, handler, endStreams)
	stop()
	metrics.Wait()
	return err
}
