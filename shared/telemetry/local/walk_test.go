package local

import (
	"fmt"
	"testing"

	"svc.example/svc/shared/telemetry"
)

// BenchmarkWalk is a walk through 10,000 contexts of six properties.
func BenchmarkWalk(b *testing.B) {
	s := New(b.TempDir())
	for n := range 10 {
		batch := telemetry.Batch{ID: [32]byte{byte(n)}, Received: now}
		for i := range 1000 {
			c := telemetry.Saved{Environment: "production", Type: "user", Key: fmt.Sprint("u-", 1000*n+i), LastSeen: now}
			for _, name := range []string{"key", "name", "email", "plan", "country"} {
				c.Properties = append(c.Properties, telemetry.Property{Name: name, Kind: telemetry.String, Text: c.Key + "@" + name})
			}
			c.Properties = append(c.Properties, telemetry.Property{Name: "orders", Kind: telemetry.Int, Text: "42"})
			batch.Contexts = append(batch.Contexts, c)
		}
		if _, err := s.Record(ctx, "ws", batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := s.Walk(ctx, "ws", telemetry.Walk{Environment: "production"}, func(telemetry.Saved) bool { n++; return true }); err != nil || n != 10_000 {
			b.Fatal(n, err)
		}
	}
}
