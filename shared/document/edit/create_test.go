package edit

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

const stampAddress = "https://svc.example/schemas/v1/stored-config.json"

func TestNewFlagAndConfig(t *testing.T) {
	served := func(value string) string {
		return `"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + value + `}]},"environments":[],"variants":[`
	}
	for _, tt := range []struct {
		name  string
		kind  document.Type
		c     Creation
		value string
		want  string
	}{
		{"bool flag", document.Flag, Creation{Key: "new-nav", ValueType: "bool", Schema: stampAddress}, "",
			`{"$schema":"` + stampAddress + `","key":"new-nav","type":"feature_flag","valueType":"bool","access":"standard","tags":[],` +
				served(`{"type":"bool","value":false}`) + `{"value":{"type":"bool","value":false}},{"value":{"type":"bool","value":true}}]}`},
		{"boolean is bool", document.Flag, Creation{Key: "f", ValueType: "boolean", Description: "Nav", Tags: []string{"b", "a"}}, "",
			`{"key":"f","type":"feature_flag","valueType":"bool","description":"Nav","access":"standard","tags":["b","a"],` +
				served(`{"type":"bool","value":false}`) + `{"value":{"type":"bool","value":false}},{"value":{"type":"bool","value":true}}]}`},
		{"double flag keeps its spelling", document.Flag, Creation{Key: "f", ValueType: "double"}, "1.50",
			`{"key":"f","type":"feature_flag","valueType":"double","access":"standard","tags":[],` +
				served(`{"type":"double","value":1.50}`) + `{"value":{"type":"double","value":1.50}}]}`},
		{"string-list is string_list", document.Flag, Creation{Key: "f", ValueType: "string-list"}, `["a"]`,
			`{"key":"f","type":"feature_flag","valueType":"string_list","access":"standard","tags":[],` +
				served(`{"type":"string_list","value":["a"]}`) + `{"value":{"type":"string_list","value":["a"]}}]}`},
		{"bool config", document.Config, Creation{Key: "c", ValueType: "bool", Schema: stampAddress}, `true`,
			`{"$schema":"` + stampAddress + `","key":"c","type":"config","valueType":"bool","access":"standard","tags":[],"sendToClientSdk":false,` +
				served(`{"type":"bool","value":true}`) + `{"value":{"type":"bool","value":true}}]}`},
		{"json config may be null", document.Config, Creation{Key: "c", ValueType: "json"}, `null`,
			`{"key":"c","type":"config","valueType":"json","access":"standard","tags":[],"sendToClientSdk":false,` +
				served(`{"type":"json","value":null}`) + `{"value":{"type":"json","value":null}}]}`},
		{"duration config", document.Config, Creation{Key: "c", ValueType: "duration"}, `"P1DT6H0.5S"`,
			`{"key":"c","type":"config","valueType":"duration","access":"standard","tags":[],"sendToClientSdk":false,` +
				served(`{"type":"duration","value":"P1DT6H0.5S"}`) + `{"value":{"type":"duration","value":"P1DT6H0.5S"}}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.value != "" {
				tt.c.Value = documents.Tree(t, tt.value)
			}
			tree := must.Get(New(tt.kind, tt.c))(t)
			if got := string(tree.Compact()); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if issues := document.Validate(tree); len(issues) > 0 {
				t.Errorf("not valid: %v", issues)
			}
			if !slices.IsSortedFunc(tree.Members, func(a, b jsontree.Member) int {
				return slices.Index(memberOrder, a.Name) - slices.Index(memberOrder, b.Name)
			}) {
				t.Error("not in order")
			}
		})
	}
}

func TestRefusedCreations(t *testing.T) {
	for _, tt := range []struct {
		kind     document.Type
		c        Creation
		value    string
		pointers []string
	}{
		{document.Flag, Creation{Key: "", ValueType: "bool"}, "", []string{"/key"}},
		{document.Flag, Creation{Key: ".hidden", ValueType: "colour"}, "1", []string{"/key", "/type"}},
		{document.Flag, Creation{Key: "a/b", ValueType: "string"}, "", []string{"/key", "/value"}},
		{document.Flag, Creation{Key: strings.Repeat("k", 201), ValueType: "bool"}, "", []string{"/key"}},
		{document.Flag, Creation{Key: "line\n", ValueType: "bool"}, "", []string{"/key"}},
		{document.Flag, Creation{Key: "f", ValueType: "bool"}, "false", []string{"/value"}},
		{document.Flag, Creation{Key: "f", ValueType: "log_level"}, `"INFO"`, []string{"/type"}},
		{document.Config, Creation{Key: "c"}, "1", []string{"/valueType"}},
		{document.Config, Creation{Key: "c", ValueType: "log_level"}, `"INFO"`, []string{"/valueType"}},
		{document.Config, Creation{Key: "c", ValueType: "bool"}, "", []string{"/value"}},
		{document.Config, Creation{Key: "c", ValueType: "int"}, "1.5", []string{"/value"}},
		{document.Config, Creation{Key: "c", ValueType: "duration"}, `"PT1.5M"`, []string{"/value"}},
	} {
		if tt.value != "" {
			tt.c.Value = documents.Tree(t, tt.value)
		}
		_, err := New(tt.kind, tt.c)
		var refused *RequestError
		if !errors.As(err, &refused) {
			t.Errorf("%+v: %v", tt.c, err)
			continue
		}
		var pointers []string
		for _, issue := range refused.Issues {
			pointers = append(pointers, issue.Pointer)
		}
		if !slices.Equal(pointers, tt.pointers) {
			t.Errorf("%+v: %v, want %v", tt.c, err, tt.pointers)
		}
	}
}

func TestNewLogLevel(t *testing.T) {
	for _, service := range []string{"shop", "log-level.shop"} {
		tree := must.Get(NewLogLevel(service, "WARN", stampAddress))(t)
		const want = `{"$schema":"` + stampAddress + `","key":"log-level.shop","type":"log_level","valueType":"log_level","access":"standard","tags":[],` +
			`"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"log_level","value":"WARN"}}]},"environments":[]}`
		if got := string(tree.Compact()); got != want {
			t.Errorf("got %s", got)
		}
		if issues := document.Validate(tree); len(issues) > 0 {
			t.Errorf("not valid: %v", issues)
		}
	}
	for _, tt := range [][2]string{{"", "INFO"}, {"log-level.", "INFO"}, {"shop", "info"}, {"shop", ""}, {"a b", "INFO"}, {strings.Repeat("s", 191), "INFO"}} {
		if _, err := NewLogLevel(tt[0], tt[1], ""); err == nil {
			t.Errorf("%q at %q was let in", tt[0], tt[1])
		}
	}
}

func TestStampSchema(t *testing.T) {
	for _, tt := range []struct{ document, address, want string }{
		{`{"key":"a","n":1.0}`, "S", `{"$schema":"S","key":"a","n":1.0}`},
		{`{"key":"a","$schema":"old"}`, "S", `{"key":"a","$schema":"S"}`},
		{`{"$schema":7,"key":"a"}`, "", `{"key":"a"}`},
	} {
		tree := documents.Tree(t, tt.document)
		if got := string(StampSchema(tree, tt.address).Compact()); got != tt.want {
			t.Errorf("StampSchema(%s) = %s, want %s", tt.document, got, tt.want)
		}
		if string(tree.Compact()) != tt.document {
			t.Error("the document that was given changed")
		}
	}
}
