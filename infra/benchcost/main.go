package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
)

func main() {
	documents := flag.Int("documents", 500, "how many flags the workspace has")
	commits := flag.Int("commits", 300, "how many commits are made")
	flag.Parse()
	if err := run(context.Background(), *documents, *commits); err != nil {
		fmt.Fprintln(os.Stderr, "benchcost:", err)
		os.Exit(1)
	}
}

// row is one operation and what it takes.
type row struct {
	what  string
	usage usage
}

func run(ctx context.Context, documents, commits int) error {
	s, err := open(ctx, documents)
	if err != nil {
		return err
	}
	ours, err := s.measure(ctx, commits)
	if err != nil {
		return err
	}
	reported, err := s.telemetry(ctx)
	if err != nil {
		return err
	}
	ours = append(ours, reported...)
	for _, n := range full {
		answers, err := answersOf(ctx, n)
		if err != nil {
			return err
		}
		ours = append(ours, answers...)
	}
	fmt.Printf("What requests to the hosted service take and cost: %d flags, %d commits, list prices of %s.\n\n", documents, commits, pricesOf)
	show(ours)
	fmt.Println()
	months(ours)
	fmt.Printf(`
Requests, bytes and units are counted in this run. A function is taken to run for
%.0f ms, and %.0f ms more for each request to a store that waits for another; it has
%.0f MB. What is sent to clients is $%.2f a GB, and each %d KB of an answer count as a
request of the gateway. Not in it: storage ($%.3f a GB and month in S3, $%.2f in
DynamoDB), the functions' own logs, free tiers (100 GB of traffic a month among them).
`, 1000*ownSeconds, 1000*perRound, 1024*memory, perGBOut, perPiece>>10, perGBStored, perGBRows)
	return nil
}

// full are the sizes of the workspaces whose whole content is sent.
var full = []int{1000, 10_000}

func answersOf(ctx context.Context, documents int) ([]row, error) {
	s, err := open(ctx, documents)
	if err != nil {
		return nil, err
	}
	return s.fullAnswers(ctx)
}

func table() *tabwriter.Writer {
	return tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func show(rows []row) {
	w := table()
	fmt.Fprintln(w, "of one operation:\tin a row\tDynamoDB\tread units\twrite units\tS3 PUT\tS3 GET\tKB stored\tKB fetched\tKB answered\t$ per million\t")
	for _, r := range rows {
		u := r.usage
		fmt.Fprintf(w, "%s\t%.1f\t%.2f\t%.1f\t%.1f\t%.2f\t%.2f\t%.1f\t%.1f\t%.1f\t%.2f\t\n", r.what, u.rounds, u.tableRequests, u.readUnits, u.writeUnits,
			u.puts, u.gets, u.sent/1024, u.received/1024, u.answered/1024, 1e6*priceOf(u).total())
	}
	w.Flush()
}

// mix is a month's traffic, by the rows' names: applications poll, people and
// programs read and now and then write, instances come and go.
var mix = []struct {
	what string
	part float64
}{
	{aPoll, 0.95}, {allFlags, 0.02}, {oneFlag, 0.02},
	{newInstance, 0.005}, {aWrite, 0.005},
}

// months says what traffic of the mix costs.
func months(rows []row) {
	var p price
	for _, m := range mix {
		for _, r := range rows {
			if r.what == m.what {
				one := priceOf(r.usage)
				p.gateway += m.part * one.gateway
				p.function += m.part * one.function
				p.table += m.part * one.table
				p.bucket += m.part * one.bucket
				p.transfer += m.part * one.transfer
			}
		}
	}
	w := table()
	fmt.Fprintln(w, "a month of requests, of which 95 % are polls and 0.5 % writes:\tHTTP API, log\tLambda\tDynamoDB\tS3\ttraffic\tdollars\t")
	for _, n := range []float64{10_000, 1_000_000, 100_000_000} {
		fmt.Fprintf(w, "%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", n, n*p.gateway, n*p.function, n*p.table, n*p.bucket, n*p.transfer, n*p.total())
	}
	w.Flush()
}
