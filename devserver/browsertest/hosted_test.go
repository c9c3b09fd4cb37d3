package browsertest

import (
	"os"
	"path/filepath"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/freeport"
)

// TestAPageOfTheFunctionsHearsFromARelay: the functions name its address, and have no
// streams of their own. The page's values are those of the functions.
func TestAPageOfTheFunctionsHearsFromARelay(t *testing.T) {
	app, port := openWebApp(t), freeport.Take()
	relay := "http://127.0.0.1:" + port
	base, workspace := startHosted(t, relay, nil)
	secret := issueKey(t, workspace, access.KeyRequest{Kind: access.KindSecretSDK, Name: "relay", Environment: "development"})
	public := issueKey(t, workspace, access.KeyRequest{Kind: access.KindPublicSDK, Name: "page", Environment: "development"})
	person := issueKey(t, workspace, access.KeyRequest{Kind: access.KindUser, Name: "Ada", Email: "ada@acme.example", Roles: []string{"protected_engineer"}})
	file := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(file, []byte(secret), 0o600))
	if problem := launch(t, "serve", "--url", base, "--key-file", file, "--port", port); problem != "" {
		t.Fatal(problem)
	}
	app.mustStart(t, map[string]any{"baseUrl": base, "headers": [][2]string{{"X-API-Key", public}}}, member)
	app.waitForStream(t, relay)
	headline := question{"string", "pricing.headline", "none"}
	before := app.value(t, headline)
	write := func(value string) {
		t.Helper()
		if status, answer := request(t, "PATCH", base+"/v1/flags/pricing.headline/environments/development", person, `{"value":"`+value+`"}`); status != 200 {
			t.Fatal(status, answer)
		}
		app.waitForValue(t, "a write", headline, value)
	}
	if before == "none" || before == "Buy now" {
		t.Fatalf("at first it is %v", before)
	}
	write("Buy now")
	write("Buy today")
	if asked := app.log.answered(relay + "/ofrep/v1/evaluate"); len(asked) > 0 {
		t.Errorf("the page asks the relay for values: %v", asked)
	}
}
