package command

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/cli"
)

func newHealth(in Invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "health [url]",
		Short: "Check a server's health, for health checks in containers",
		Long: `Check a server's health: the exit status is 0 if it answers 200, and 1 for any other
answer, or none within 5 seconds. It stands in for curl in an image that holds
nothing but svc. The address is that of svc api on this machine unless you name another;
/readyz of a relay is 200 only once there is a state to serve.`,
		Example: `  svc health
  svc health http://127.0.0.1:6580/readyz`,
		Args: cli.Arguments(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			address := "http://127.0.0.1:6581/healthz"
			if len(args) == 1 {
				address = args[0]
			}
			if _, ok := baseurl.Parse(address); !ok {
				return cli.Usagef("%q is not the address of a server; it looks like http://127.0.0.1:6580/readyz", baseurl.Redacted(address))
			}
			request, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, address, nil)
			if err != nil {
				return err
			}
			client := http.Client{Timeout: 5 * time.Second}
			response, err := client.Do(request)
			if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
				err = wrapped.Err // without the address a second time
			}
			if err != nil {
				return fmt.Errorf("%s does not answer: %w", baseurl.Redacted(address), err)
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s answers %s", baseurl.Redacted(address), response.Status)
			}
			fmt.Fprintln(in.Stdout, "ok")
			return nil
		},
	}
}
