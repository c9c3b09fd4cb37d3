// Command samlocal serves the hosted service on this machine, without an AWS
// account: the functions that are shipped, all in this process, behind the
// template's routes and under its policies, over servers that stand in for
// DynamoDB and S3 (dynoxide and versitygw, on the PATH). make sam-local starts it.
//
// It makes a workspace of the samples, and prints a key and an address that signs in to the console. Everything is gone
// when it ends. Limits of requests are lifted. SIGN_IN in its environment says with whom people
// sign in, as the secret that the template names does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"svc.example/svc/devserver/server"
	"svc.example/svc/shared/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	template := flag.String("template", "template.yaml", "the SAM template")
	port := flag.Int("port", 3000, "port to listen on, on the loopback interface")
	every := flag.Duration("maintain", time.Minute, "how often maintenance runs")
	flag.Parse()
	listeners, err := server.Listen("127.0.0.1", *port)
	if err != nil {
		return err
	}
	url := server.URL("127.0.0.1", *port)
	s, err := start(ctx, *template, url, os.Stderr)
	if err != nil {
		server.Close(listeners)
		return err
	}
	go s.maintain(ctx, *every)
	fmt.Printf("Listening    %s/v1\n", url)
	fmt.Printf("Sign in      %s\n             (once, within 10 minutes)\n", cli.SignInAddress(url, s.oneTime))
	fmt.Printf("Stores       DynamoDB at %s, S3 at %s; table and bucket %s\n", s.DynamoDB, s.S3, s.Table)
	fmt.Printf("Try          export SVC=%s/v1 KEY=%s\n", url, s.key)
	fmt.Printf("             curl -H \"Authorization: Bearer $KEY\" $SVC/flags\n")
	fmt.Printf("Operate      export SVC_TABLE=%s SVC_BUCKET=%s \\\n", s.Table, s.Bucket)
	fmt.Printf("               AWS_ENDPOINT_URL_DYNAMODB=%s AWS_ENDPOINT_URL_S3=%s \\\n", s.DynamoDB, s.S3)
	fmt.Printf("               AWS_REGION=%s AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s\n", s.config.Region, s.credentials.AccessKeyID, s.credentials.SecretAccessKey)
	fmt.Printf("             svcadmin workspace list\n")
	fmt.Printf("Maintenance  runs each %v\n", *every)
	return server.Serve(ctx, listeners, s.api)
}
