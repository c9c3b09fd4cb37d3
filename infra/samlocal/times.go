package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"svc.example/svc/infra/samlocal/service"
)

// rounds is how often each function is started. The smallest time counts: what
// is above it is this machine being busy.
const rounds = 5

// printTimes prints how large each function is, and how long it takes from its
// exec to when it asks for its first event.
func printTimes(ctx context.Context, rie, template, binaries string) error {
	// Starting makes no request, so nothing needs to be there.
	nowhere := service.Settings{Table: "t", Bucket: "b", DynamoDB: "http://127.0.0.1:9", S3: "http://127.0.0.1:9", Queues: map[string]string{"MaintenanceQueue": "http://127.0.0.1:9/q", "MaintenanceDeadLetters": "http://127.0.0.1:9/d"}, Region: "us-east-1", AccessKey: "a", Secret: "b"}
	s, err := service.New(service.Options{Template: template, Binaries: binaries, RIE: rie, Instances: 1, Log: io.Discard, Settings: nowhere})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Printf("%-12s %9s %9s\n", "function", "stripped", "init")
	for _, f := range s.Sorted() {
		size, err := os.Stat(filepath.Join(binaries, f.Group(), "bootstrap"))
		if err != nil {
			return err
		}
		for range rounds {
			short, cancel := context.WithTimeout(ctx, time.Minute)
			_, err := s.Pool.Invoke(short, f.ID, []byte(`{"version":"2.0"}`))
			cancel()
			if err != nil {
				return err
			}
			s.Pool.Cold(f.ID)
		}
		fmt.Printf("%-12s %6.1f MB %6.1f ms\n", f.Group(), float64(size.Size())/(1<<20), float64(slices.Min(s.Pool.InitTimes(f.ID)).Microseconds())/1000)
	}
	return nil
}
