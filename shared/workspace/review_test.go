package workspace

import (
	"slices"
	"strings"
	"testing"
)

const reviewedFile = `{"environments": ["staging", "production", {"name": "old", "archived": true}], "secretReferences": "protected",
 "review": {"production": {"approvals": 2}, "old": {}}}`

const reviewedFlag = `{"$schema": "s", "key": "f", "type": "feature_flag", "valueType": "bool", "name": "N", "tags": ["a"], "access": "standard",
 "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": true}}]},
 "environments": [{"id": "production", "rules": []}, {"id": "staging", "rules": []}], "variants": [{"value": {"type": "bool", "value": true}}]}`

func TestWhatHasToBeReviewed(t *testing.T) {
	flag := func(old, new string) Difference {
		if !strings.Contains(reviewedFlag, old) {
			t.Fatalf("the flag has no %s", old)
		}
		return Difference{"feature-flags/f.json", []byte(reviewedFlag), []byte(strings.Replace(reviewedFlag, old, new, 1))}
	}
	file := func(old, new string) Difference {
		return Difference{File, []byte(reviewedFile), []byte(strings.Replace(reviewedFile, old, new, 1))}
	}
	for name, test := range map[string]struct {
		change Difference
		want   string
	}{
		"its own rules":                {flag(`{"id": "production", "rules": []}`, `{"id": "production", "rules": [1]}`), "production"},
		"its entry comes":              {flag(`"id": "staging"`, `"id": "production"`), "production"},
		"its entry goes":               {flag(`{"id": "production", "rules": []}, `, ``), "production"},
		"another one's rules":          {flag(`{"id": "staging", "rules": []}`, `{"id": "staging", "rules": [1]}`), ""},
		"default rules":                {flag(`"value": true}}]}`, `"value": false}}]}`), "old production"},
		"a mark of a secret":           {flag(`"value": true}}]}`, `"value": true, "confidential": true}}]}`), "old production"},
		"variants":                     {flag(`[{"value": {"type": "bool", "value": true}}]`, `[]`), "old production"},
		"a field that nobody knows":    {flag(`"key": "f"`, `"key": "f", "new": 1`), "old production"},
		"words":                        {flag(`"name": "N", "tags": ["a"], "access": "standard"`, `"name": "M", "tags": [], "access": "support"`), ""},
		"another layout":               {flag(`"valueType": "bool"`, "\n\"valueType\":    \"bool\""), ""},
		"it comes":                     {Difference{"segments/s.json", nil, []byte(`{}`)}, "old production"},
		"it goes":                      {Difference{"configs/c.json", []byte(`{"key": "c"}`), nil}, "old production"},
		"it breaks":                    {Difference{"feature-flags/f.json", []byte(reviewedFlag), []byte(`{`)}, "old production"},
		"a broken one is another":      {Difference{"feature-flags/f.json", []byte(`{`), []byte(`[`)}, "old production"},
		"a schema comes":               {Difference{"schemas/s.json", nil, []byte(`{}`)}, ""},
		"a schema goes":                {Difference{"schemas/s.json", []byte(`{}`), nil}, ""},
		"a schema allows other things": {Difference{"schemas/s.json", []byte(`{}`), []byte(`false`)}, "old production"},
		"a setting that is no review":  {file(`"secretReferences": "protected",`, ``), ""},
		"an environment comes":         {file(`"staging", `, `"staging", "test", `), "old production"},
		"an environment is archived":   {file(`"staging"`, `{"name": "staging", "archived": true}`), "old production"},
		"fewer approvals":              {file(`2`, `1`), "old production"},
		"no review":                    {file(`"review"`, `"reviewed"`), "old production"},
		"no file":                      {Difference{File, []byte(reviewedFile), nil}, "old production"},
		"a file that cannot be read":   {Difference{File, []byte(reviewedFile), []byte(`{`)}, "old production"},
		"a file of no folder":          {Difference{"README.md", nil, []byte(`x`)}, ""},
	} {
		if got := strings.Join(Reviewed([]byte(reviewedFile), []Difference{test.change}), " "); got != test.want {
			t.Errorf("%s: %q has to be reviewed, not %q", name, got, test.want)
		}
		if got := Reviewed([]byte(`{"environments": ["staging", "production"]}`), []Difference{test.change}); len(got) > 0 {
			t.Errorf("%s: %v has to be reviewed where nothing has to be", name, got)
		}
	}
	misspelt := strings.Replace(reviewedFile, `{"production": {"approvals": 2}, "old": {}}`, `true`, 1)
	if got := Reviewed([]byte(misspelt), []Difference{flag(`"value": true}}]}`, `"value": false}}]}`)}); !slices.Equal(got, []string{"old", "production", "staging"}) {
		t.Errorf("where the setting cannot be read, %v has to be reviewed", got)
	}
}
