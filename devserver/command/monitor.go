package command

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/monitor"
	"svc.example/svc/devserver/server"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/router"
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
	cmd.Flags().StringVar(&f.metricsAddress, "metrics-address", "", where+"host and port that alone answers GET "+monitor.Path+", for Prometheus (default where svc listens, if that is a loopback address)")
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

// monitor makes one for a server. It is shown where the server listens unless it has an
// address of its own, or other machines reach the server.
func (f monitorFlags) monitor(logger *slog.Logger, proxies ratelimit.Proxies, loopback bool) (m *monitor.Monitor, show bool) {
	m = monitor.New()
	m.Proxies = proxies
	if f.accessLog {
		m.Access = logger
	}
	return m, loopback && f.metricsAddress == ""
}

// listen opens the address of the metrics; none for no address.
func (f monitorFlags) listen() ([]net.Listener, error) {
	if f.metricsAddress == "" {
		return nil, nil
	}
	host, port, err := f.place()
	if err != nil {
		return nil, err
	}
	return server.Listen(host, port)
}

// serveMetrics answers at an address of its own until ctx is done.
func serveMetrics(ctx context.Context, listeners []net.Listener, m *monitor.Monitor, logger *slog.Logger) (stopped <-chan struct{}) {
	done := make(chan struct{})
	if len(listeners) == 0 {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		if err := server.Serve(ctx, listeners, router.New([]router.Route{{Path: monitor.Path, Handler: m}}, http.NotFoundHandler())); err != nil {
			logger.Error("metrics are no longer served", "error", err)
		}
	}()
	return done
}
