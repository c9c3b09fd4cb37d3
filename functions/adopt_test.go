package functions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/iam"
	"svc.example/svc/shared/testing/template"
)

// TestStoresThatAreAdopted: with ExistingTable and ExistingBucket the functions work on
// these, with the same rights and on nothing else, and the stack's own are no part of it.
func TestStoresThatAreAdopted(t *testing.T) {
	adopted := map[string]string{"ExistingTable": "svc-restored", "ExistingBucket": "svc-copy"}
	for _, set := range [][]string{nil, {"ExistingTable"}, {"ExistingBucket"}, {"ExistingTable", "ExistingBucket"}} {
		values := map[string]string{}
		for _, name := range set {
			values[name] = adopted[name]
		}
		t.Run(strings.Join(set, " and "), func(t *testing.T) { testAdopted(t, read(t).With(values), values) })
	}
}

func testAdopted(t *testing.T, all *template.Template, values map[string]string) {
	table, bucket := "table", "bucket"
	if values["ExistingTable"] != "" {
		table = values["ExistingTable"]
	}
	if values["ExistingBucket"] != "" {
		bucket = values["ExistingBucket"]
	}
	for variable, want := range map[string]string{"TABLE": "Table", "BUCKET": "Bucket"} {
		if adopted := "Existing" + want; values[adopted] != "" {
			want = adopted
		}
		got, err := all.Resolve(template.At(all.Globals, "Function", "Environment", "Variables", variable))
		if err != nil || template.At(got, "Ref") != want {
			t.Errorf("%s is %v, %v; want a reference to %s", variable, got, err, want)
		}
	}
	for id, condition := range map[string]string{"Table": "OwnTable", "Bucket": "OwnBucket", "BucketPolicy": "OwnBucket"} {
		holds, err := all.Holds(condition)
		if err != nil || all.Resources[id].Condition != condition || holds == (values["Existing"+strings.TrimPrefix(condition, "Own")] != "") {
			t.Errorf("%s is made on the condition %s, which is %v, %v", id, all.Resources[id].Condition, holds, err)
		}
	}
	own, err := all.Functions()
	must(t, err)
	plain := functions(t)
	for id, f := range own {
		got, err := iam.New(all, f, names)
		must(t, err)
		want, err := iam.New(read(t), plain[id], iam.Names{"Table": table, "Bucket": bucket, "MaintenanceQueue": "queue", "MaintenanceDeadLetters": "dead"})
		if err != nil || !slices.Equal(got.Rights(), want.Rights()) {
			t.Errorf("%s may %v\nwant %v, %v", id, got.Rights(), want.Rights(), err)
		}
	}
}

// TestAVersionsDescriptionFits: it names the parameters, so that functions are published
// anew when one of them changes, and has 256 characters at most.
func TestAVersionsDescriptionFits(t *testing.T) {
	all := read(t)
	for id, r := range all.Resources {
		parts, _ := template.At(r.Properties["VersionDescription"], "Fn::Join").([]any)
		if len(parts) != 2 {
			continue
		}
		length := -1
		for _, part := range parts[1].([]any) {
			length += 1 + longest(t, all, part)
		}
		if length > 256 {
			t.Errorf("%s: the description can have %d characters", id, length)
		}
	}
}

// longest is how long the value of a parameter can be.
func longest(t *testing.T, all *template.Template, value any) (length int) {
	if text, is := value.(string); is {
		return len(text)
	}
	if text, is := template.At(value, "Fn::Sub").(string); is {
		length = len(substituted.ReplaceAllString(text, ""))
		for _, found := range substituted.FindAllStringSubmatch(text, -1) {
			length += longest(t, all, map[string]any{"Ref": found[1]})
		}
		return length
	}
	if choice, is := template.At(value, "Fn::If").([]any); is {
		return max(longest(t, all, choice[1]), longest(t, all, choice[2]))
	}
	p := all.Parameters[fmt.Sprint(template.At(value, "Ref"))]
	if most, is := template.At(p, "MaxLength").(int); is {
		return most
	}
	if most := template.At(p, "MaxValue"); most != nil {
		return len(fmt.Sprint(most))
	}
	values, _ := template.At(p, "AllowedValues").([]any)
	for _, v := range values {
		length = max(length, len(fmt.Sprint(v)))
	}
	if length == 0 {
		t.Errorf("%v may have any length", value)
	}
	return length
}

// TestNothingNamesTheStoresPastTheConditions: a deployment with an adopted store fails on
// a reference to the resource that is not made.
func TestNothingNamesTheStoresPastTheConditions(t *testing.T) {
	all := read(t)
	for _, id := range slices.Sorted(maps.Keys(all.Resources)) {
		if id != "Table" && id != "Bucket" && id != "BucketPolicy" {
			unconditional(t, id, map[string]any(all.Resources[id].Properties), false)
		}
	}
	unconditional(t, "Globals", all.Globals, false)
}

func unconditional(t *testing.T, where string, value any, chosen bool) {
	switch v := value.(type) {
	case map[string]any:
		if name := fmt.Sprint(v["Ref"]); !chosen && (name == "Table" || name == "Bucket") {
			t.Errorf("%s refers to %s without a condition", where, name)
		}
		if at, is := v["Fn::GetAtt"].([]any); is && (at[0] == "Table" || at[0] == "Bucket") {
			t.Errorf("%s asks %v for what it is", where, at)
		}
		for name, part := range v {
			unconditional(t, where, part, chosen || name == "Fn::If")
		}
	case []any:
		for _, part := range v {
			unconditional(t, where, part, chosen)
		}
	case string:
		if strings.Contains(v, "${Table") || strings.Contains(v, "${Bucket") {
			t.Errorf("%s names a store in %q", where, v)
		}
	}
}
