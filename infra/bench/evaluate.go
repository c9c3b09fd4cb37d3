package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	flags "svc.example/svc/shared/client"
	"svc.example/svc/shared/contexts"
)

// inProcess is one way to ask for a value inside of a Go program; ask does so
// for the i-th time.
type inProcess struct {
	name, target string
	ask          func(i int)
}

// evaluation measures package client, which is compiled into this program:
// a call of some 100 ns cannot be seen from outside.
func (b bench) evaluation() error {
	fmt.Printf("client: a flag with three targeting rules, in the process, beside a lookup in a map of as many\n\n")
	fmt.Printf("%-44s %9s %12s %9s %18s\n", "", "each", "allocations", "lookups", "target")
	for _, n := range []int{100, 1000} {
		if err := b.evaluationOf(n); err != nil {
			return err
		}
	}
	return nil
}

func (b bench) evaluationOf(n int) error {
	dir, err := os.MkdirTemp("", "svc-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeFlags(dir, n); err != nil {
		return err
	}
	c, err := flags.Open(context.Background(), flags.Options{Datadir: dir, Environment: "development", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer c.Close()
	ways := waysToAsk(c, n)
	each, allocations := make([][]float64, len(ways)), make([]float64, len(ways))
	for range b.rounds {
		for i, way := range ways {
			ns, allocated := perCall(b.round/time.Duration(len(ways)), way.ask)
			each[i], allocations[i] = append(each[i], ns), allocated
		}
	}
	lookup := median(each[0])
	for i, way := range ways {
		ns := median(each[i])
		fmt.Printf("%-44s %6.0f ns %12.2f %9.1f %18s\n", fmt.Sprintf("%s, %d flags", way.name, n), ns, allocations[i], ns/lookup, way.target)
	}
	return nil
}

// read keeps the compiler from leaving a lookup out.
var read int

func waysToAsk(c *flags.Client, n int) []inProcess {
	ctx := context.Background()
	keys, values := make([]string, n), make(map[string]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("team%d.feature-%d", i%20, i)
		values[keys[i]] = "everyone else"
	}
	one := contexts.Named("user", map[string]any{"key": "user-1", "plan": "plan-1", "email": "user-1@team1.example", "country": "DE", "orders": 1})
	scoped := contexts.With(ctx, one)
	return []inProcess{
		{"map lookup", "", func(i int) { read += len(values[keys[i%n]]) }},
		{"in one scope, flags in turn", "", func(i int) { read += len(c.String(scoped, keys[i%n], "")) }},
		{"in one scope, one flag", "150 ns, 0 allocs", func(int) { read += len(c.String(scoped, keys[1], "")) }},
		{"just-in-time context", "", func(i int) { read += len(c.String(ctx, keys[i%n], "", one)) }},
		{"a new scope and its first flag", "", func(i int) {
			ctx, scope := contexts.Begin(ctx, one.And("request", nil))
			read += len(c.String(ctx, keys[i%n], ""))
			scope.End()
		}},
	}
}

// perCall calls for a while, and says what one call takes and allocates. The
// time is the median of small batches: most of them are over before the system
// has something else to do.
func perCall(d time.Duration, call func(i int)) (ns, allocations float64) {
	const batch = 1000
	var before, after runtime.MemStats
	times := make([]time.Duration, 0, 1<<16)
	runtime.ReadMemStats(&before)
	calls := 0
	for begin := time.Now(); time.Since(begin) < d && len(times) < cap(times); {
		start := time.Now()
		for range batch {
			call(calls)
			calls++
		}
		times = append(times, time.Since(start))
	}
	runtime.ReadMemStats(&after)
	return float64(median(times).Nanoseconds()) / batch, float64(after.Mallocs-before.Mallocs) / float64(calls)
}
