package control

import (
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/versions"
)

// TestSaltOfDelivery: without the right to the secret there is a salt all the same,
// and with it both come to the same one.
func TestSaltOfDelivery(t *testing.T) {
	secret := []byte("secret")
	told, _ := served.Stored(&repository.Snapshot{}, secret, time.Now())
	for _, tt := range []struct {
		name         string
		told, commit string
		secret       []byte
		want         versions.Salt
	}{
		{"told", told, "c", nil, versions.SaltOf(secret)},
		{"from the secret", "", "c", secret, versions.SaltOf(secret)},
		{"neither", "", "c", nil, versions.SaltOf([]byte("c"))},
	} {
		session := &Session{}
		session.caller.entry.Head = repository.Head{Commit: tt.commit, Versions: tt.told}
		session.caller.entry.Workspace.Secret = tt.secret
		if got := (&Delivery{session}).salt(); got != tt.want {
			t.Errorf("%s: %x, want %x", tt.name, got, tt.want)
		}
	}
}
