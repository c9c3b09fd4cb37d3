package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == ceilingCommand {
		exit(runCeiling(os.Args[2:]))
	}
	svc := flag.String("svc", "bin/svc", "the svc binary to measure")
	seconds := flag.Float64("seconds", 2, "how long one round of one measurement lasts")
	rounds := flag.Int("rounds", 3, "how often each measurement is taken; the median counts")
	connections := flag.Int("connections", 8, "how many clients ask at once")
	only := flag.String("only", "", "serve, api or streams: measure that one alone")
	flag.Parse()
	b := bench{
		svc: *svc, rounds: *rounds, connections: *connections,
		round: time.Duration(*seconds * float64(time.Second)),
	}
	exit(b.run(*only))
}

// bench is what all measurements of a run share.
type bench struct {
	svc         string
	round       time.Duration
	rounds      int
	connections int
}

func (b bench) run(only string) error {
	switch only {
	case "serve":
		return b.directoryServer()
	case "api":
		return b.controlPlane()
	case "streams":
		return b.eventStreams()
	case "":
		for _, measure := range []func() error{b.directoryServer, b.controlPlane, b.eventStreams} {
			if err := measure(); err != nil {
				return err
			}
			fmt.Println()
		}
		return nil
	}
	return fmt.Errorf("-only %s: it is serve, api or streams", only)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
