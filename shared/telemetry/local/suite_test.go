package local_test

import (
	"testing"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/local"
	"svc.example/svc/shared/testing/telemetrytest"
)

func TestStore(t *testing.T) {
	telemetrytest.Run(t, func(t *testing.T) func() telemetry.Store {
		dir := t.TempDir()
		return func() telemetry.Store { return local.New(dir) }
	})
}
