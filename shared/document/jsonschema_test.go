package document

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
)

func TestCompileSchemaRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		want         []string
	}{
		{"a string", `"object"`, []string{`: a JSON Schema is an object, not a string`}},
		{"unknown type", `{"properties": {"a": {"type": "strin"}}}`, []string{
			`/properties/a/type: expected one of "array", "boolean", "integer", "null", "number", "object", "string"`}},
		{"several", `{"type": "object", "required": "a", "minLength": -1}`, []string{
			`/minLength: expected a number of at least 0`, `/required: expected an array, not a string`}},
		{"bad expression", `{"properties": {"a/b": {"pattern": "("}}}`, []string{
			`/properties/a~1b/pattern: expected a regular expression (RE2): missing closing )`}},
		{"bad expression of names", `{"patternProperties": {"(?=a)": {}}}`, []string{
			`/patternProperties/(?=a): the schema does not allow a member of this name: expected a regular expression (RE2): invalid or unsupported Perl syntax`}},
		{"another file", `{"properties": {"a": {"$ref": "other.json#/x"}}}`, []string{
			`/properties/a/$ref: https://svc.example/schemas/other.json cannot be followed: keep every definition in this file, under $defs`}},
		{"a file of this machine", `{"$ref": "file:///etc/passwd"}`, []string{
			`/$ref: file:///etc/passwd cannot be followed: keep every definition in this file, under $defs`}},
		{"the network", `{"$ref": "http://localhost:1/x"}`, []string{
			`/$ref: http://localhost:1/x cannot be followed: keep every definition in this file, under $defs`}},
		{"a part that is not there", `{"items": {"$ref": "#/$defs/a"}}`, []string{
			`/items/$ref: not a usable JSON Schema: json-pointer in "#/$defs/a" not found`}},
		{"enormous", `{"examples": [` + strings.Repeat(`{},`, maxSchemaObjects) + `{}]}`, []string{
			`: a JSON Schema of more than 10000 objects takes too long to compile; make it smaller (an object with $ref counts as two, one with $id as three)`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			schema, issues := CompileSchema(parse(t, tt.schema))
			if schema != nil || !slices.Equal(lines(issues), tt.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(lines(issues), "\n  "), strings.Join(tt.want, "\n  "))
			}
		})
	}
}

// Anyone who may write to the workspace may write a schema, and must not read files of
// the machine that compiles it.
func TestCompileSchemaReadsNoFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.json")
	must.Do(t, os.WriteFile(path, []byte(`{"type": "string"}`), 0o600))
	location := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	for _, keyword := range []string{"$ref", "$schema"} {
		if schema, issues := CompileSchema(parse(t, fmt.Sprintf(`{%q: %q}`, keyword, location))); schema != nil || len(issues) != 1 || issues[0].Pointer != "/"+keyword {
			t.Errorf("%s: %q", keyword, lines(issues))
		}
	}
}

func TestSchemaCheck(t *testing.T) {
	for _, tt := range []struct {
		schema, value string
		want          []string
	}{
		{`true`, `1`, nil},
		{`false`, `1`, []string{`: the schema allows nothing here`}},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "type": "number"}`, `1`, nil},
		{`{"type": "object"}`, `[]`, []string{`: expected an object, not an array`}},
		{`{"type": ["integer", "null"]}`, `1.5`, []string{`: expected null or an integer, not a number`}},
		{`{"required": ["a"], "properties": {"b": {"minimum": 1}}, "additionalProperties": false}`, `{"b": 0, "c": 1}`, []string{
			`/a: a is missing`, `/b: expected a number of at least 1`, `/c: the schema does not allow this member here`}},
		{`{"dependentRequired": {"a": ["b"]}}`, `{"a": 1}`, []string{`/b: b is missing, which a needs beside it`}},
		{`{"enum": ["a", 1, {"x": null}]}`, `"b"`, []string{`: expected one of "a", 1, {"x":null}`}},
		{`{"const": 1.0}`, `1`, nil},
		{`{"const": "x"}`, `1`, []string{`: expected "x"`}},
		{`{"pattern": "^a+$"}`, `"b"`, []string{`: expected a string that matches ^a+$`}},
		{`{"pattern": "^[a-z.]*(x|y){1,200}$", "maxLength": 200}`, `"` + strings.Repeat("k", 900_000) + `"`, []string{`: expected at most 200 characters, got 900000`}},
		{`{"pattern": "^k*$", "maxLength": 3}`, `"éa"`, []string{`: expected a string that matches ^k*$`}},
		{`{"not": {"pattern": "^k*$", "maxLength": 3}}`, `"kkkk"`, nil},
		{`{"minLength": 2}`, `"é"`, []string{`: expected at least 2 characters, got 1`}},
		{`{"maxItems": 1}`, `[1, 2]`, []string{`: expected at most 1 item, got 2`}},
		{`{"minProperties": 1}`, `{}`, []string{`: expected at least 1 member, got 0`}},
		{`{"uniqueItems": true}`, `[1, 2, 1.0]`, []string{`: expected items that all differ, but items 0 and 2 are equal`}},
		{`{"contains": {"type": "string"}}`, `[1]`, []string{`: expected an item that fits the schema's contains`}},
		{`{"multipleOf": 0.1}`, `0.25`, []string{`: expected a multiple of 0.1`}},
		{`{"exclusiveMaximum": 10}`, `10`, []string{`: expected a number below 10`}},
		{`{"maximum": 10}`, `1e999999999`, []string{`: expected a number of at most 10`}},
		{`{"minimum": -10}`, `-1e999999999`, []string{`: expected a number of at least -10`}},
		{`{"propertyNames": {"maxLength": 1}}`, `{"ab": 1}`, []string{`/ab: the schema does not allow a member of this name: expected at most 1 character, got 2`}},
		{`{"not": {"type": "string"}}`, `"a"`, []string{`: the schema does not allow this (not)`}},
		{`{"anyOf": [{"type": "string", "minLength": 3}, {"type": "number"}]}`, `"a"`, []string{`: expected at least 3 characters, got 1`}},
		{`{"anyOf": [{"type": "string"}, {"type": "number"}]}`, `null`, []string{`: fits none of the 2 forms that the schema allows (anyOf)`}},
		{`{"oneOf": [{"minimum": 1}, {"minimum": 2}]}`, `3`, []string{`: fits several of the forms of which it must fit one (oneOf)`}},
		{`{"oneOf": [{"$ref": "#/$defs/a"}, {"type": "string"}], "$defs": {"a": {"type": "object", "required": ["x"]}}}`, `{}`, []string{`/x: x is missing`}},
		{`{"items": {"type": "integer"}}`, `[1, "a", 2, null]`, []string{`/1: expected an integer, not a string`, `/3: expected an integer, not null`}},
		{`{"properties": {"a": {"type": "string", "errorMessage": "a is the name of a port"}}}`, `{"a": 1}`, []string{`/a: a is the name of a port`}},
		{`{"allOf": [{"type": "string"}, {"type": "string"}]}`, `1`, []string{`: expected a string, not a number`}},
	} {
		t.Run(tt.schema, func(t *testing.T) {
			schema, issues := CompileSchema(parse(t, tt.schema))
			if len(issues) > 0 {
				t.Fatalf("%q", lines(issues))
			}
			if got := lines(schema.Check(parse(t, tt.value))); !slices.Equal(got, tt.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
			}
		})
	}
}

// A schema's author decides what is compared; the words never show it.
func TestSchemaCheckKeepsTheValue(t *testing.T) {
	value := parse(t, `{"p": "hunter2"}`)
	for _, keyword := range []string{`"const": "x"`, `"enum": [1]`, `"pattern": "^x"`, `"type": "number"`, `"maxLength": 1`, `"not": {}`,
		`"anyOf": [{"const": 1}, {"const": 2}]`, `"allOf": [{"const": 1}]`, `"if": {"type": "string"}, "then": {"const": 1}`} {
		schema, _ := CompileSchema(parse(t, fmt.Sprintf(`{"properties": {"p": {%s}}}`, keyword)))
		issues := schema.Check(value)
		if len(issues) == 0 || strings.Contains(fmt.Sprint(issues), "hunter2") {
			t.Errorf("%s: %q", keyword, lines(issues))
		}
	}
	draft7, _ := CompileSchema(parse(t, `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"p": {"format": "date"}}}`))
	if got := lines(draft7.Check(value)); !slices.Equal(got, []string{"/p: expected a string in the format date"}) {
		t.Errorf("%q", got)
	}
}
