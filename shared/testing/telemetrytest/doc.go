// Package telemetrytest is what every telemetry.Store has to pass: tests of what the
// interface promises, written against it alone. Only tests import it.
//
// It also has a store in memory, the simplest that keeps the promise; the
// tests compare the others with it.
package telemetrytest
