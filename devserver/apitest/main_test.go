package apitest

import (
	"context"
	"os"
	"testing"

	"svc.example/svc/devserver/svcbinary"
	"svc.example/svc/shared/apiload"
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
