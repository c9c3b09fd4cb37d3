package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/testing/must"
)

var record = flag.Bool("record", false, "record the description as published, in "+published)

// published is the record of what was published last: the version, a hash over
// the whole description, and its surface.
const published = "testdata/published.txt"

const howToRecord = "go test ./shared/httpapi -run TestTheDescriptionIsAsPublished -record"

// TestTheDescriptionIsAsPublished: whoever changes the description says so, by
// recording it again, and v1 only grows.
func TestTheDescriptionIsAsPublished(t *testing.T) {
	version, fingerprint := textOf(spec().At("/info/version")), fingerprintOf(t, spec())
	now := surface(spec())
	text, err := os.ReadFile(published)
	if err != nil && !*record {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) < 2 {
		lines = []string{"", ""}
	}
	before := lines[2:]
	if broken := breaking(before, now); len(broken) > 0 && len(before) > 0 {
		t.Fatalf("openapi.json breaks programs that were written for what is published. v1 only grows: "+
			"take the change back, or make it a /v2.\n  %s", strings.Join(broken, "\n  "))
	}
	if *record {
		text := strings.Join(append([]string{"version " + version, "sha256 " + fingerprint}, now...), "\n") + "\n"
		must.Do(t, errors.Join(os.WriteFile(published, []byte(text), 0o666), os.WriteFile("openapi.json.gz", compressed(t, openapi), 0o666)))
		return
	}
	packed := must.Get(os.ReadFile("openapi.json.gz"))(t)
	if text, err := negotiation.Decompress(packed); err != nil || string(text) != openapi {
		t.Errorf("openapi.json.gz, which the programs have in them, is not openapi.json (%v). Record it:\n  %s", err, howToRecord)
	}
	if lines[0] != "version "+version || lines[1] != "sha256 "+fingerprint {
		t.Errorf("openapi.json (version %s) is not what is recorded as published (%s). It may be: this is an addition%s.\n"+
			"If it is meant, record it, and commit the record with it:\n  %s",
			version, lines[0], differences(before, now), howToRecord)
	}
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	must.Do(t, errors.Join(err, w.Close()))
	return packed.Bytes()
}

// differences lists the new facts, or says that there are none.
func differences(before, now []string) string {
	added := slices.DeleteFunc(slices.Clone(now), func(fact string) bool { return slices.Contains(before, fact) })
	if len(added) == 0 {
		return " to the prose, the examples or the links"
	}
	return ":\n  " + strings.Join(added, "\n  ") + "\n"
}

// fingerprintOf hashes a description, whatever its layout.
func fingerprintOf(t *testing.T, tree *jsontree.Node) string {
	t.Helper()
	var plain any
	must.Do(t, json.Unmarshal(tree.Compact(), &plain))
	sorted := must.Get(json.Marshal(plain))(t)
	return fmt.Sprintf("%x", sha256.Sum256(sorted))
}

// TestBreaking: what grows is told from what breaks.
func TestBreaking(t *testing.T) {
	before, fingerprint := surface(spec()), fingerprintOf(t, spec())
	for _, c := range []struct {
		name, old, new string
		breaks         bool
	}{
		{"prose", `"summary": "List flags"`, `"summary": "All flags"`, false},
		{"a field of an answer is gone", `"nextCursor": {`, `"next": {`, true},
		{"a field of an answer is new", `"nextCursor": {`, `"previousCursor": {"type": "string"}, "nextCursor": {`, false},
		{"a field of an answer may be absent", `"flags",
          "total"`, `"flags"`, true},
		{"a status is new", `"304": {
            "$ref": "#/components/responses/NotModified"`, `"418": {"$ref": "#/components/responses/NotModified"}, "304": {
            "$ref": "#/components/responses/NotModified"`, false},
		{"a request must say more", `"required": [
          "key"
        ]`, `"required": ["key", "tags"]`, true},
		{"a new schema that a request must fit", `"replaceTargeting": {`, `"comment": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}, "replaceTargeting": {`, false},
		{"a parameter's range is wider", `"maximum": 100,`, `"maximum": 1000,`, false},
		{"a parameter's range has another end", `"minimum": 1,`, `"minimum": 2,`, true},
		{"a value of a request is gone", `"TRACE",`, ``, true},
		{"a value of an answer is new", `"service_account"`, `"service_account", "robot"`, true},
		{"another type", `"total": {
            "description": "How many segments there are.",
            "type": "integer"`, `"total": {"description": "", "type": "string"`, true},
	} {
		text := strings.ReplaceAll(openapi, c.old, c.new)
		tree, err := jsontree.Parse([]byte(text))
		if err != nil || text == openapi {
			t.Errorf("%s: the test no longer fits openapi.json: %v", c.name, err)
			continue
		}
		if fingerprintOf(t, tree) == fingerprint {
			t.Errorf("%s: the same fingerprint", c.name)
		}
		if broken := breaking(before, surface(tree)); c.breaks != (len(broken) > 0) {
			t.Errorf("%s: %q", c.name, broken)
		}
	}
}
