package document

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

// Documents that are valid, from testdata.
var (
	//go:embed testdata/flag.json
	threeRuleFlag string
	//go:embed testdata/config.json
	secretConfig string
	//go:embed testdata/log_levels.json
	logLevels string
	//go:embed testdata/segment.json
	betaUsers string
)

var parse = documents.Tree

// put replaces, adds or (with "") deletes what a pointer names.
func put(t testing.TB, tree *jsontree.Node, pointer, text string) *jsontree.Node {
	t.Helper()
	if pointer == "" {
		return parse(t, text)
	}
	slash := strings.LastIndex(pointer, "/")
	parent, name := tree.At(pointer[:slash]), pointer[slash+1:]
	if i, err := strconv.Atoi(name); err == nil && parent.Kind == jsontree.Array {
		parent.Items[i] = parse(t, text)
	} else if text == "" {
		parent.Delete(name)
	} else {
		parent.Set(name, parse(t, text))
	}
	return tree
}

func lines(issues []Issue) []string {
	var all []string
	for _, issue := range issues {
		all = append(all, issue.Pointer+": "+issue.Message)
	}
	return all
}

// ofType is a small document with one value.
func ofType(valueType, value string) string {
	return fmt.Sprintf(`{"key": "k", "type": "config", "valueType": %q, "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": %s}]}}`, valueType, value)
}

func TestValidateTakes(t *testing.T) {
	for name, text := range map[string]string{
		"flag":           threeRuleFlag,
		"config":         secretConfig,
		"log level":      logLevels,
		"segment":        betaUsers,
		"no rules":       `{"key": "k", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}`,
		"unknown fields": `{"key": "k", "type": "feature_flag", "valueType": "bool", "default": {"rules": [], "note": 1}, "owner": {"team": null}}`,
		"empty lists of a segment": `{"key": "k", "type": "segment", "valueType": "bool", "default": {"rules": []},
			"environments": [], "variants": []}`,
		"as deep as may be": ofType("json", `{"type": "json", "value": `+strings.Repeat(`{"a":`, jsontree.MaxDepth-10)+`null`+strings.Repeat(`}`, jsontree.MaxDepth-10)+`}`),
		"longest key":       strings.Replace(betaUsers, "beta-users", strings.Repeat("k", 200), 1),
		"longest names": strings.Replace(strings.Replace(threeRuleFlag, `"key":`, `"id": "`+strings.Repeat("\u00e9", MaxName)+`", "key":`, 1),
			`"variants": [{`, `"variants": [{"name": "`+strings.Repeat("\u00e9", MaxName)+`", `, 1),
		"unknown operator":  strings.Replace(betaUsers, "PROP_IS_ONE_OF", "PROP_OF_LATER_DAYS", 1),
		"int":               ofType("int", `{"type": "int", "value": 9223372036854775807}`),
		"int as 1.0":        ofType("int", `{"type": "int", "value": 1.0}`),
		"int as a string":   ofType("int", `{"type": "int", "value": "-42"}`),
		"double":            ofType("double", `{"type": "double", "value": 1e-5}`),
		"double, string":    ofType("double", `{"type": "double", "value": "1.50e+3"}`),
		"json object":       ofType("json", `{"type": "json", "value": {"a": [null]}}`),
		"json null":         ofType("json", `{"type": "json", "value": null}`),
		"json string":       ofType("json", `{"type": "json", "value": "plain"}`),
		"json number text":  ofType("json", `{"type": "json", "value": "12"}`),
		"json almost JSON":  ofType("json", `{"type": "json", "value": "{name}"}`),
		"empty string list": ofType("string_list", `{"type": "string_list", "value": []}`),
		"duration":          ofType("duration", `{"type": "duration", "value": "P1DT2H3M4.123456789S"}`),
		"longest duration":  ofType("duration", `{"type": "duration", "value": "P36500D"}`),
		"legacy schema":     ofType("schema", `{"type": "schema", "value": {"schemaType": "ZOD"}}`),
		"encrypted int":     ofType("int", `{"type": "int", "value": "c1ph3r", "decryptWith": "k2"}`),
		"provided int":      ofType("int", `{"type": "provided", "value": {"source": "ENV_VAR", "lookup": "N"}}`),
		"weights of zero": ofType("int", `{"type": "weighted_values", "value": {"weightedValues": [
			{"value": {"type": "int", "value": 1}, "weight": 0}, {"value": {"type": "provided", "value": {"source": "ENV_VAR", "lookup": "N"}}, "weight": 1e2}]}}`),
		"operand of its own type": strings.Replace(betaUsers, `{"type": "string_list", "value": ["1"]}`, `{"type": "int_range", "value": {"start": 1, "end": 2}}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			tree := parse(t, text)
			if issues := Validate(tree); len(issues) > 0 {
				t.Errorf("%q", lines(issues))
			}
			if found := storedSchema().Check(tree); len(found) > 0 {
				t.Errorf("the schema alone says %q", lines(found))
			}
			if _, issues := Decode(tree); len(issues) > 0 {
				t.Errorf("Decode says %q", lines(issues))
			}
		})
	}
}

// TestValidateFinds what is wrong where one value of a document is another one, or missing:
// each mistake in testdata is that of a document, with its pointer and text, and then what
// is said of it.
func TestValidateFinds(t *testing.T) {
	documents := map[string]string{"flag": threeRuleFlag, "config": secretConfig, "log_levels": logLevels, "segment": betaUsers}
	all := must.Get(os.ReadFile("testdata/mistakes.txt"))(t)
	for _, mistake := range strings.Split(strings.TrimSpace(string(all)), "\n\n") {
		said := strings.Split(mistake, "\n")
		t.Run(said[0], func(t *testing.T) {
			of, rest, _ := strings.Cut(said[1], " ")
			pointer, text, _ := strings.Cut(rest, " ")
			tree := put(t, parse(t, documents[of]), strings.TrimRight(pointer, "/"), text)
			if got := lines(Validate(tree)); !slices.Equal(got, said[2:]) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(said[2:], "\n  "))
			}
		})
	}
}

// Messages end up in answers, logs and commits.
func TestValidateKeepsSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, value := range []string{
		`{"type": "int", "value": "hunter2", "confidential": true}`,
		`{"type": "duration", "value": "PThunter2S", "confidential": true}`,
		`{"type": "json", "value": "{\"p\": \"hunter2\"}", "confidential": true}`,
		`{"type": "log_level", "value": "hunter2", "confidential": true}`,
		`{"type": "string_list", "value": [{"hunter2": "hunter2"}], "confidential": true}`,
		`{"type": "string", "value": {"hunter2": 1}, "confidential": true}`,
		`{"type": "string", "value": ["hunter2"], "decryptWith": "k"}`,
		`{"type": "provided", "value": {"source": ["hunter2"], "lookup": {"hunter2": "hunter2"}}}`,
		`{"type": "double", "value": "hunter2", "decryptWith": ""}`,
	} {
		issues := Validate(parse(t, ofType("bool", value)))
		if len(issues) == 0 {
			t.Errorf("no issue in %s", value)
		}
		if said := fmt.Sprint(issues); strings.Contains(said, secret) {
			t.Errorf("%s: %s", value, said)
		}
	}
}

func TestDurations(t *testing.T) {
	const bad = -1
	for text, want := range map[string]struct{ strict, lenient time.Duration }{
		"PT30S":                            {30 * time.Second, 30 * time.Second},
		"PT5M":                             {5 * time.Minute, 5 * time.Minute},
		"PT1H30M":                          {90 * time.Minute, 90 * time.Minute},
		"P1DT6H":                           {30 * time.Hour, 30 * time.Hour},
		"P0D":                              {0, 0},
		"PT0.5S":                           {500 * time.Millisecond, 500 * time.Millisecond},
		"PT1.001S":                         {1001 * time.Millisecond, 1001 * time.Millisecond},
		"P1DT2H3M4.123456789S":             {26*time.Hour + 3*time.Minute + 4123456789, 26*time.Hour + 3*time.Minute + 4123456789},
		"P36500D":                          {36500 * 24 * time.Hour, 36500 * 24 * time.Hour},
		"P36499DT24H":                      {36500 * 24 * time.Hour, 36500 * 24 * time.Hour},
		"P00000000000000000000001D":        {24 * time.Hour, 24 * time.Hour},
		"PT1.5H":                           {bad, 90 * time.Minute},
		"PT0.5M":                           {bad, 30 * time.Second},
		"P0.5D":                            {bad, 12 * time.Hour},
		"PT1.1234567891S":                  {bad, 1123456789},
		"P36500DT0.000000001S":             {bad, bad},
		"P36501D":                          {bad, bad},
		"PT99999999999999999999S":          {bad, bad},
		"PT36028797018963968S":             {bad, bad}, // 2^55 s are 0 in 64 bits of nanoseconds
		"P36500DT876000H":                  {bad, bad},
		"PT3153600001S":                    {bad, bad},
		"":                                 {bad, bad},
		"P":                                {bad, bad},
		"PT":                               {bad, bad},
		"P1DT":                             {bad, bad},
		"P1H":                              {bad, bad},
		"P1W":                              {bad, bad},
		"P1Y":                              {bad, bad},
		"PT1M1H":                           {bad, bad},
		"-PT1S":                            {bad, bad},
		"PT-1S":                            {bad, bad},
		"PT1.S":                            {bad, bad},
		"PT.5S":                            {bad, bad},
		"PT1,5S":                           {bad, bad},
		"pt1s":                             {bad, bad},
		" PT1S":                            {bad, bad},
		"PT1S\n":                           {bad, bad},
		"PT1SPT1S":                         {bad, bad},
		"P\u0661D":                         {bad, bad},
		"5 minutes":                        {bad, bad},
		"P1D T1H":                          {bad, bad},
		"PT" + string(rune(0x1F600)) + "S": {bad, bad},
	} {
		check(t, "strict", text, want.strict, func(text string) (time.Duration, error) { return duration(strictDuration, text) })
		check(t, "ReadDuration", text, want.lenient, ReadDuration)
	}
}

func check(t *testing.T, name, text string, want time.Duration, read func(string) (time.Duration, error)) {
	t.Helper()
	got, err := read(text)
	if want < 0 && err == nil {
		t.Errorf("%s(%q) = %v, want a refusal", name, text, got)
	}
	if want >= 0 && (err != nil || got != want) {
		t.Errorf("%s(%q) = %v, %v, want %v", name, text, got, err, want)
	}
}
