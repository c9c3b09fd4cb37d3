// Command samlocal serves the hosted service on this machine, without an AWS
// account: the template's routes and the functions' own binaries, over servers
// that stand in for DynamoDB, S3 (dynoxide and versitygw, on the PATH) and SQS
// (moto). make sam-local builds what it needs and starts it.
//
// Where a Docker engine answers, sam local start-api runs the functions (of
// what sam build has built); elsewhere they run in Lambda's runtime interface
// emulator, behind a front that does to requests what the gateway does. Which
// of the two it is stands in the line that begins with Running.
//
// It makes a workspace of the samples and prints a key. Everything is gone
// when it ends.
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
	"svc.example/svc/infra/samlocal/emulator"
	"svc.example/svc/infra/samlocal/service"
	"svc.example/svc/shared/access"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type flags struct {
	template, built, functions string
	port, instances            int
	docker, times, check, free bool
	maintain                   time.Duration
}

func run(ctx context.Context) error {
	var f flags
	flag.StringVar(&f.template, "template", "template.yaml", "the SAM template")
	flag.StringVar(&f.functions, "functions", "dist/functions", "directory with <group>/bootstrap for every function, built for this machine")
	flag.StringVar(&f.built, "built", ".aws-sam/build/template.yaml", "with -docker: the template that sam build has made")
	flag.IntVar(&f.port, "port", 3000, "port to listen on, on the loopback interface")
	flag.IntVar(&f.instances, "instances", 4, "instances of each function, at most")
	flag.DurationVar(&f.maintain, "maintain", time.Minute, "without -docker: how often maintenance runs")
	flag.BoolVar(&f.docker, "docker", false, "run the functions in sam local start-api")
	flag.BoolVar(&f.check, "check", false, "say whether sam local start-api can be used, and end")
	flag.BoolVar(&f.free, "free", false, "say whether the port is free, and end")
	flag.BoolVar(&f.times, "times", false, "print how large each function is and how long it takes to start, and end")
	flag.Parse()
	switch {
	case f.check:
		return usable(ctx)
	case f.free:
		listeners, err := server.Listen("127.0.0.1", f.port)
		server.Close(listeners)
		return err
	case f.times:
		rie, err := emulator.Find()
		if err != nil {
			return err
		}
		return printTimes(ctx, rie, f.template, f.functions)
	}
	return serve(ctx, f)
}

func serve(ctx context.Context, f flags) error {
	listeners, err := server.Listen("127.0.0.1", f.port)
	if err != nil {
		return err
	}
	stores, err := service.NewStores(ctx)
	if err != nil {
		return err
	}
	settings := stores.Settings
	if err := settings.MakeQueues(ctx, f.template, nil); err != nil {
		return err
	}
	settings.PublicURL = server.URL("127.0.0.1", f.port)
	_, key, err := stores.Workspace(ctx, "local")
	if err != nil {
		return err
	}
	if f.docker {
		server.Close(listeners) // it was free; sam listens itself
		return serveInDocker(ctx, f.built, f.port, settings, key, func() { tell(f, settings, key, "sam local start-api, in Docker") })
	}
	rie, err := emulator.Find()
	if err != nil {
		return err
	}
	s, err := service.New(service.Options{Template: f.template, Binaries: f.functions, RIE: rie, Instances: f.instances, Log: os.Stderr, Settings: settings})
	if err != nil {
		return err
	}
	defer s.Close()
	s.Schedule(ctx, "MaintenanceFunction", f.maintain, func(err error) { fmt.Fprintln(os.Stderr, err) })
	tell(f, settings, key, "Lambda's runtime interface emulator, since no Docker engine answers or none was asked for")
	return server.Serve(ctx, listeners, s)
}

func tell(f flags, s service.Settings, key access.Key, how string) {
	fmt.Printf("Running      the functions of %s in %s\n", f.template, how)
	fmt.Printf("Listening    %s/v1\n", s.PublicURL)
	fmt.Printf("Stores       DynamoDB at %s, S3 at %s; table and bucket %s\n", s.DynamoDB, s.S3, s.Table)
	fmt.Printf("Try          export SVC=%s/v1 KEY=%s\n", s.PublicURL, key.Reveal())
	fmt.Printf("             curl -H \"Authorization: Bearer $KEY\" $SVC/flags\n")
	fmt.Printf("Operate      export SVC_TABLE=%s SVC_BUCKET=%s \\\n", s.Table, s.Bucket)
	fmt.Printf("               AWS_ENDPOINT_URL_DYNAMODB=%s AWS_ENDPOINT_URL_S3=%s \\\n", s.DynamoDB, s.S3)
	fmt.Printf("               AWS_REGION=%s AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s\n", s.Region, s.AccessKey, s.Secret)
	fmt.Printf("             svcadmin workspace list\n")
	if !f.docker {
		fmt.Printf("Maintenance  runs each %v; its queue is %s, its dead letters are in %s\n", f.maintain, s.Queues["MaintenanceQueue"], s.Queues["MaintenanceDeadLetters"])
	}
}
