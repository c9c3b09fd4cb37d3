package apitest

import (
	"context"
	"os"
	"testing"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/svcbinary"
)

func TestMain(m *testing.M) { os.Exit(svcbinary.Run(m.Run)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func background(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*apiload.Patience)
	t.Cleanup(cancel)
	return ctx
}
