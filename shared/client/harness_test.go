package client

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

// folders are where the types lie in a datadir.
var folders = map[string]string{"feature_flag": "feature-flags", "config": "configs", "log_level": "log-levels", "segment": "segments"}

// datadirOf writes documents into a directory of their own.
func datadirOf(t testing.TB, documents ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, text := range documents {
		write(t, dir, text)
	}
	return dir
}

func write(t testing.TB, dir, text string) {
	t.Helper()
	var head struct{ Key, Type string }
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	path := filepath.Join(dir, folders[head.Type], head.Key+".json")
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if err := atomicfile.ReplaceAt(path, []byte(text), 0o644); err != nil { // or the file could be seen empty
		t.Fatal(err)
	}
}

// serving is a client of documents in a directory.
func serving(t testing.TB, documents ...string) *Client {
	t.Helper()
	return open(t, Options{Datadir: datadirOf(t, documents...)})
}

func open(t testing.TB, o Options) *Client {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := must.Get(Open(context.Background(), o))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain waited for: %s", what)
		}
	}
}

// journal is a log that tests can look into.
type journal struct{ svcbinary.Log }

func (j *journal) count(words string) int { return strings.Count(j.String(), words) }

func (j *journal) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// document writes one with default rules.
func documentOf(kind, key, valueType string, rules ...string) string {
	return fmt.Sprintf(`{"key":%q,"type":%q,"valueType":%q,"default":{"rules":[%s]}}`, key, kind, valueType, strings.Join(rules, ","))
}

// always is a fallback rule for a value.
func always(value string) string {
	return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + value + `}`
}

func plainValue(kind, value string) string {
	return fmt.Sprintf(`{"type":%q,"value":%s}`, kind, value)
}

// when is a rule for one value of one property.
func when(property, is, value string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":%q,"valueToMatch":{"type":"string_list","value":[%q]}}],"value":%s}`, property, is, value)
}
