package browsertest

import (
	"reflect"
	"testing"
)

// question is what an application asks OpenFeature: a key, by the method of a
// type, with the default of the code.
type question struct {
	Type    string `json:"type"` // boolean, string, number or object
	Key     string `json:"key"`
	Default any    `json:"default"`
}

// details is what OpenFeature answers.
type details struct {
	FlagKey      string         `json:"flagKey"`
	Value        any            `json:"value"`
	Variant      string         `json:"variant"`
	Reason       string         `json:"reason"`
	ErrorCode    string         `json:"errorCode"`
	ErrorMessage string         `json:"errorMessage"`
	FlagMetadata map[string]any `json:"flagMetadata"`
}

// expectation is a question and the answer to it.
type expectation struct {
	question
	Value   any
	Variant string
	Reason  string
	Error   string
}

// member is the context that the expectations are for, and the flat one that
// an application sets.
var member = map[string]any{"targetingKey": "user-1", "user.plan": "pro", "user.logins": 12}

// everyType is a question of each type of value, and of each way in which
// there is none, as all providers answer it in the directory everyTypeDir.
var everyType = []expectation{
	{question{"boolean", "always", false}, true, "static", "STATIC", ""},
	{question{"boolean", "pro.only", false}, true, "on", "TARGETING_MATCH", ""},
	{question{"string", "greeting", "default"}, "hello, ünïcode", "static", "STATIC", ""},
	{question{"string", "headline", "default"}, "second", "split:1", "SPLIT", ""},
	{question{"string", "home", "default"}, "development", "targeting:0", "TARGETING_MATCH", ""},
	{question{"number", "limit", 0}, 42.0, "static", "STATIC", ""},
	{question{"number", "ratio", 0}, 0.5, "targeting:0", "TARGETING_MATCH", ""},
	{question{"number", "whole", 0}, 3.0, "static", "STATIC", ""},
	{question{"object", "settings", map[string]any{}}, map[string]any{"retries": 3.0, "hosts": []any{"a", "b"}, "nested": map[string]any{"deep": nil}}, "static", "STATIC", ""},
	{question{"object", "origins", []any{}}, []any{"https://a.example", "https://b.example"}, "static", "STATIC", ""},
	{question{"string", "timeout", "PT1S"}, "PT30S", "static", "STATIC", ""},

	{question{"boolean", "nobody.knows", true}, true, "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"string", "server.only", "default"}, "default", "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"string", "unmarked", "default"}, "default", "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"string", "password", "default"}, "default", "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"boolean", "staff", true}, true, "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"string", "log-level.app", "WARN"}, "WARN", "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"boolean", "greeting", true}, true, "", "ERROR", "TYPE_MISMATCH"},
}

// noRuleMatches is a config of which no rule matches the context member.
var noRuleMatches = question{"string", "beta.only", "default"}

func questions(list []expectation) []question {
	var q []question
	for _, e := range list {
		q = append(q, e.question)
	}
	return q
}

func checkAnswers(t *testing.T, list []expectation, got []details) {
	t.Helper()
	if len(got) != len(list) {
		t.Fatalf("%d answers to %d questions", len(got), len(list))
	}
	for i, e := range list {
		a := got[i]
		if !reflect.DeepEqual(a.Value, e.Value) || a.Variant != e.Variant || a.Reason != e.Reason || a.ErrorCode != e.Error {
			t.Errorf("%s %s: got %+v, want %v by %s (%s) %s", e.Type, e.Key, a, e.Value, e.Variant, e.Reason, e.Error)
		}
		if e.Error == "" && (a.FlagMetadata["valueType"] == nil || a.FlagMetadata["configType"] == nil) {
			t.Errorf("%s: the metadata is %v", e.Key, a.FlagMetadata)
		}
	}
}
