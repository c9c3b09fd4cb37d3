package telemetrytest

import (
	"testing"

	"svc.example/svc/shared/telemetry"
)

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) func() telemetry.Store { return only(NewMemory()) })
}
