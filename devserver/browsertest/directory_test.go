package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// everyTypeFiles are a config directory with a value of every type.
var everyTypeFiles = map[string]string{
	"svc.json": `{"environments": ["development", "production"]}`,
	"feature-flags/always.json": `{"key": "always", "type": "feature_flag", "valueType": "bool", "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": true}}]}}`,
	"feature-flags/pro.only.json": `{"key": "pro.only", "type": "feature_flag", "valueType": "bool", "default": {"rules": [
		{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["pro"]}},
			{"operator": "PROP_GREATER_THAN", "propertyName": "user.logins", "valueToMatch": {"type": "int", "value": 10}}], "value": {"type": "bool", "value": true}},
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]},
		"variants": [{"name": "off", "value": {"type": "bool", "value": false}}, {"name": "on", "value": {"type": "bool", "value": true}}]}`,
	"feature-flags/greeting.json": `{"key": "greeting", "type": "feature_flag", "valueType": "string", "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "hello, ünïcode"}}]}}`,
	"feature-flags/headline.json": `{"key": "headline", "type": "feature_flag", "valueType": "string", "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "weighted_values", "value": {"hashByPropertyName": "user.key", "weightedValues": [
			{"weight": 0, "value": {"type": "string", "value": "first"}}, {"weight": 100000, "value": {"type": "string", "value": "second"}}]}}}]}}`,
	"feature-flags/home.json": `{"key": "home", "type": "feature_flag", "valueType": "string", "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "elsewhere"}}]},
		"environments": [{"id": "development", "rules": [
			{"criteria": [{"operator": "NOT_IN_SEG", "valueToMatch": {"type": "string", "value": "staff"}}], "value": {"type": "string", "value": "development"}}]}]}`,
	"configs/limit.json": `{"key": "limit", "type": "config", "valueType": "int", "sendToClientSdk": true, "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "int", "value": "42"}}]}}`,
	"configs/ratio.json": `{"key": "ratio", "type": "config", "valueType": "double", "sendToClientSdk": true, "default": {"rules": [
		{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.key", "valueToMatch": {"type": "string_list", "value": ["user-1"]}}], "value": {"type": "double", "value": 0.5}},
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "double", "value": 0.25}}]}}`,
	"configs/whole.json": `{"key": "whole", "type": "config", "valueType": "double", "sendToClientSdk": true, "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "double", "value": 3.0}}]}}`,
	"configs/settings.json": `{"key": "settings", "type": "config", "valueType": "json", "sendToClientSdk": true, "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "json", "value": {"retries": 3, "hosts": ["a", "b"], "nested": {"deep": null}}}}]}}`,
	"configs/origins.json": `{"key": "origins", "type": "config", "valueType": "string_list", "sendToClientSdk": true, "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string_list", "value": ["https://a.example", "https://b.example"]}}]}}`,
	"configs/timeout.json": `{"key": "timeout", "type": "config", "valueType": "duration", "sendToClientSdk": true, "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "duration", "value": "PT30S"}}]}}`,
	"configs/beta.only.json": `{"key": "beta.only", "type": "config", "valueType": "string", "sendToClientSdk": true, "default": {"rules": [
		{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.beta", "valueToMatch": {"type": "string_list", "value": ["true"]}}], "value": {"type": "string", "value": "beta"}}]}}`,
	"configs/server.only.json": `{"key": "server.only", "type": "config", "valueType": "string", "sendToClientSdk": false, "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "not for browsers"}}]}}`,
	"configs/unmarked.json": `{"key": "unmarked", "type": "config", "valueType": "string", "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "not for browsers"}}]}}`,
	"configs/password.json": `{"key": "password", "type": "config", "valueType": "string", "sendToClientSdk": true, "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "not for browsers", "confidential": true}}]}}`,
	"segments/staff.json": `{"key": "staff", "type": "segment", "valueType": "bool", "default": {"rules": [
		{"criteria": [{"operator": "PROP_ENDS_WITH_ONE_OF", "propertyName": "user.email", "valueToMatch": {"type": "string_list", "value": ["@acme.example"]}}], "value": {"type": "bool", "value": true}}]}}`,
	"log-levels/log-level.app.json": `{"key": "log-level.app", "type": "log_level", "valueType": "log_level", "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "log_level", "value": "INFO"}}]}}`,
}

// everyTypeDir is everyTypeFiles on disk.
func everyTypeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for path, content := range everyTypeFiles {
		write(t, dir, path, content)
	}
	return dir
}

func write(t *testing.T, datadir, path, content string) {
	t.Helper()
	file := filepath.Join(datadir, filepath.FromSlash(path))
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(content), 0o644))
}

// edit replaces a text, which must be there, where it stands first in a file
// of a datadir.
func edit(t *testing.T, datadir, path, old, new string) {
	t.Helper()
	content := readFile(t, filepath.Join(datadir, filepath.FromSlash(path)))
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s does not hold %q", path, old)
	}
	write(t, datadir, path, strings.Replace(string(content), old, new, 1))
}

func remove(t *testing.T, datadir, path string) {
	t.Helper()
	must(t, os.Remove(filepath.Join(datadir, filepath.FromSlash(path))))
}

// switchOff makes new-checkout of the sample directory false, where it is true
// for a developer.
func switchOff(t *testing.T, datadir string) {
	t.Helper()
	edit(t, datadir, "feature-flags/new-checkout.json", `"value": true`, `"value": false`)
}
