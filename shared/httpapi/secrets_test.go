package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
)

// TestAnEngineerBorrowsNoSecrets goes the way that an engineer would go who
// wants applications to decrypt a guarded secret, or to read their environment.
func TestAnEngineerBorrowsNoSecrets(t *testing.T) {
	const config = `{"key":%q,"type":"config","valueType":"string"%s,"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":%s}]}}`
	const lookup = `{"type":"provided","value":{"source":"ENV_VAR","lookup":"MASTER"}}`
	w := newWorld(t, map[string]string{
		"svc.json":            `{"environments":["staging",{"name":"production","protected":true}],"secretReferences":"protected"}`,
		"configs/master.json": fmt.Sprintf(config, "master", `,"access":"protected-all-envs"`, lookup),
		"configs/token.json":  fmt.Sprintf(config, "token", `,"access":"protected-all-envs"`, `{"type":"string","value":"c3RvbGVu","decryptWith":"master"}`),
		"configs/mine.json":   fmt.Sprintf(config, "mine", "", `{"type":"string","value":"x"}`),
	})
	boss, engineer := w.key, w.newKey(access.KindUser, "engineer")
	put := func(key, value string) *reply {
		w.key = key
		token := w.get("/configs/mine/document").ok().at("/commitSha")
		return w.do("PUT", "/configs/mine/document", fmt.Sprintf(`{"expectedCommitSha":%q,"document":`+config+`}`, token, "mine", "", value))
	}
	for _, value := range []string{`{"type":"string","value":"c3RvbGVu","decryptWith":"master"}`, lookup} {
		refused := put(engineer, value)
		if refused.status != 403 || refused.at("/details/code") != "PERMISSION_DENIED" || refused.at("/details/required") != "config.edit.protected" {
			t.Errorf("%s: %d %s", value, refused.status, refused.body)
		}
	}
	// Who may is told of a lookup; whoever writes plain text over it, too.
	if done := put(boss, lookup).ok(); done.at("/warnings/0/path") != "/default/rules/0/value" {
		t.Errorf("%s", done.body)
	}
	w.key = engineer
	over := w.do("PATCH", "/configs/mine/environments/staging", `{"value":"plain"}`).ok()
	if over.at("/warnings/0/path") != "/environments/0/rules/0/value" || over.at("/changed") != true {
		t.Errorf("%s", over.body)
	}
}

// TestARolloutGoesOnOverHTTP: off and on again, read from a real history.
func TestARolloutGoesOnOverHTTP(t *testing.T) {
	const rule = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":%s}`
	split := fmt.Sprintf(rule, `{"type":"weighted_values","value":{"hashByPropertyName":"org.id","weightedValues":[{"value":{"type":"bool","value":true},"weight":50000},{"value":{"type":"bool","value":false},"weight":50000}]}}`)
	w := newWorld(t, map[string]string{"svc.json": `{"environments":["staging"]}`,
		"feature-flags/f.json": `{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[` + split + `]}}`})
	patch := func(body string) *reply { return w.do("PATCH", "/flags/f/environments/staging", body) }
	patch(`{"enabled":false}`).ok()
	on := patch(`{"rollout":[{"value":true,"percent":10},{"value":false,"percent":90}]}`).ok()
	if on.at("/rules/0/value/value/hashByPropertyName") != "org.id" {
		t.Errorf("%s", on.body)
	}
	twice := patch(`{"rollout":[{"value":true,"percent":10},{"value":true,"percent":90}]}`)
	if twice.status != 400 || twice.at("/details/issues/0/path") != "/rollout/1/value" {
		t.Errorf("%s", twice.body)
	}
}

func TestAFirstLogLevelSaysWhatItWrote(t *testing.T) {
	w := newWorld(t, map[string]string{"svc.json": `{"environments":["staging"]}`})
	first := w.do("PATCH", "/log-levels/shop", `{"level":"DEBUG","environment":"staging","target":"com.acme"}`).ok()
	if message, _ := first.at("/messages/0/message").(string); first.at("/environment") != "default" || first.at("/target") != nil || first.at("/created") != true ||
		!strings.Contains(message, "not written yet") {
		t.Errorf("%s", first.body)
	}
	second := w.do("PATCH", "/log-levels/shop", `{"level":"DEBUG","environment":"staging","target":"com.acme"}`).ok()
	if second.at("/environment") != "staging" || second.at("/target") != "com.acme" || second.at("/messages") != nil {
		t.Errorf("%s", second.body)
	}
}
