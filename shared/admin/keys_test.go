package admin

import (
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/telemetry"
)

func key(t testing.TB, w *Workspace) access.Key {
	t.Helper()
	k, _, err := w.IssueKey(ctx, "", access.KeyRequest{Kind: access.KindUser, Name: "Ada", Email: "ada@acme.example", Roles: []string{"engineer"}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeys(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	service := control.New(control.Settings{
		Authenticator: s.Stores.table, Now: time.Now,
		Repository: nil,
	})
	k := key(t, w)
	open := func(use control.Use) (*control.Session, error) {
		caller, err := service.Authenticate(ctx, k, "")
		if err != nil {
			return nil, err
		}
		return service.Open(caller, use)
	}
	session, err := open(control.Write)
	if err != nil || session.Whoami().Principal.Name != "Ada" {
		t.Fatalf("%v", err)
	}
	if err := w.Registry().SetWorkspace(ctx, func(r *access.Workspace) { r.BillingInactive = true }); err != nil {
		t.Fatal(err)
	}
	_, reading := open(control.Read)
	if _, writing := open(control.Write); reading != nil || writing == nil {
		t.Errorf("with billing inactive: to read %v, to write %v", reading, writing)
	}
	sdk := access.KeyRequest{Kind: access.KindPublicSDK, Name: "web", Environment: "prodction"}
	if _, _, err := w.IssueKey(ctx, "", sdk); err == nil || !strings.Contains(err.Error(), "development, production") {
		t.Errorf("a slip: %v", err)
	}
	sdk.Environment = "production"
	if _, _, err := w.IssueKey(ctx, "", sdk); err != nil {
		t.Error(err)
	}
	u, err := w.Usage(ctx, telemetry.MonthOf(time.Now()))
	if err != nil || u.LiveKeys != 2 || u.Documents != 1 || u.Commits != 1 || u.Packs != 1 || u.Bytes == 0 || u.Keys != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}
