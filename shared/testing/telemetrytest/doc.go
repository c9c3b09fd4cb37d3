// Package telemetrytest is what every telemetry.Store has to pass: tests of what the
// interface promises, written against it alone. Only tests import it.
//
// It also has a store in a file, for tests of what uses one.
package telemetrytest
