package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/testing/must"
)

// None of these values may ever be seen outside its document.
const secret = "hunter2"

func TestSecretsStayOutOfWords(t *testing.T) {
	confidential := func(valueType, value string) string {
		return strings.Replace(serves(valueType, value), `"value":{"type"`, `"value":{"confidential":true,"type"`, 1)
	}
	encrypted := strings.Replace(serves("string", `"`+secret+`"`), `"value":{"type"`, `"value":{"decryptWith":"key","type"`, 1)
	provided := serves("provided", `{"source":"ENV_VAR","lookup":"`+secret+`"}`)
	config := func(key, valueType, more, rule string) string {
		return fmt.Sprintf(`{"key":%q,"type":"config","valueType":%q%s,"default":{"rules":[%s]}}`, key, valueType, more, rule)
	}
	files := map[string]string{
		"configs/key.json":      configOf("key", "string", `"k"`, ""),
		"configs/plain.json":    config("plain", "string", "", confidential("string", `"old `+secret+`"`)),
		"configs/cipher.json":   config("cipher", "string", "", encrypted),
		"configs/provided.json": config("provided", "string", "", provided),
		"configs/number.json":   config("number", "json", `,"schemaKey":"s"`, confidential("json", `{"`+secret+`":1}`)),
		"schemas/s.json":        `{"type":"object","maxProperties":1,"propertyNames":{"maxLength":7}}`,
	}
	w := newWorld(t, files)
	w.repo.Push(ada, "rotate by hand", map[string]string{
		"configs/plain.json":    config("plain", "string", "", confidential("string", `"new `+secret+`"`)),
		"configs/cipher.json":   config("cipher", "string", `,"name":"n"`, strings.Replace(encrypted, secret, secret+secret, 1)),
		"configs/provided.json": config("provided", "string", "", strings.Replace(provided, secret, "X"+secret, 1)),
	})
	stale := w.repo.Commits[1].SHA
	var errs []error
	patch := func(key, value string, token *string) {
		_, err := w.boss().Changes().Patch(ctx, document.Config, key, "staging", change.ValuePatch{Value: node(t, value), ExpectedCommitSHA: token})
		errs = append(errs, err)
		_, err = w.boss().Changes().Patch(ctx, document.Config, key, "default", change.ValuePatch{Value: node(t, value), ExpectedCommitSHA: token, ReplaceTargeting: true})
		errs = append(errs, err)
	}
	quotedSecret := `"` + secret + `"`
	for _, key := range []string{"plain", "cipher", "provided", "number"} {
		patch(key, quotedSecret, &stale)
		if key != "provided" { // whose next value is a plain one, and shown
			patch(key, quotedSecret, nil)
		}
		patch(key, `["`+secret+`"]`, nil)
		patch(key, `{"`+secret+`":"`+secret+`"}`, nil)
		patch(key, `{"`+secret+`":1,"b":2}`, nil)
		patch(key, `{"`+secret+secret+`":1}`, nil)
	}
	for _, rule := range []string{
		confidential("string", `["`+secret+`"]`), confidential("int", quotedSecret), confidential("duration", quotedSecret),
		strings.Replace(encrypted, `"key"`, `"nokey"`, 1), serves("provided", quotedSecret), confidential("json", `{"`+secret+`":3,"b":4}`),
	} {
		for _, key := range []string{"plain", "number"} {
			valueType, more := "string", ""
			if key == "number" {
				valueType, more = "json", `,"schemaKey":"s"`
			}
			_, err := w.boss().Changes().PutDocument(ctx, document.Config, key, change.DocumentPut{
				Document: node(t, config(key, valueType, more, rule)), ExpectedCommitSHA: ptr(w.last().SHA)})
			errs = append(errs, err)
		}
	}
	refused := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		refused++
		if told := wire(t, fault.Of(err).Envelope()) + err.Error(); strings.Contains(told, secret) {
			t.Errorf("a refusal shows it: %s", told)
		}
	}
	if refused == 0 || refused == len(errs) {
		t.Errorf("%d of %d were refused", refused, len(errs))
	}
	for _, c := range w.repo.Commits {
		if strings.Contains(c.Message, secret) {
			t.Errorf("a commit shows it: %s", c.Message)
		}
	}
	entries := must.Get(w.boss().Feed().Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(100)}}))(t)
	if told := wire(t, entries); strings.Contains(told, secret) {
		t.Errorf("the feed shows it: %s", told)
	}
	if told := wire(t, entries); !strings.Contains(told, "[redacted]") {
		t.Errorf("the feed tells nothing at all: %s", told)
	}
}
