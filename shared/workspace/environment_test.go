package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

func TestSlugProblem(t *testing.T) {
	for name, ok := range map[string]bool{
		"production": true, "eu-west-1": true, "7": true, strings.Repeat("a", 100): true,
		"": false, "default": false, "Production": false, "a--b": false, "-a": false, "a-": false, "a b": false, "a_b": false,
		"ä": false, "a\n": false, "a/b": false, strings.Repeat("a", 101): false,
	} {
		if problem := SlugProblem(name); (problem == "") != ok {
			t.Errorf("SlugProblem(%q) = %q", name, problem)
		}
	}
}

func TestReadEnvironments(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []Environment
	}{
		{"bare names take their type from the name", `["production", "eu", "test", "staging", "development"]`, []Environment{
			{Name: "development", Type: "development"}, {Name: "eu", Type: "development"}, {Name: "test", Type: "test"},
			{Name: "staging", Type: "staging"}, {Name: "production", Type: "production"}}},
		{"objects", `[{"name": "us", "environmentType": "production", "protected": true, "region": "us-1"}, {"name": "old", "archived": true}]`, []Environment{
			{Name: "old", Type: "development", Archived: true}, {Name: "us", Type: "production", Protected: true}}},
		{"an object without a type", `[{"name": "production"}]`, []Environment{{Name: "production", Type: "production"}}},
		{"types of a later day come last", `[{"name": "a", "environmentType": "preview"}, "production"]`, []Environment{
			{Name: "production", Type: "production"}, {Name: "a", Type: "preview"}}},
		{"names that are no slugs are read", `["Production", {"name": "STAGING"}, "Produktion"]`, []Environment{
			{Name: "Produktion", Type: "development"}, {Name: "STAGING", Type: "staging"}, {Name: "Production", Type: "production"}}},
		{"none", `[]`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := must.Get(jsontree.Parse([]byte(`{"environments": ` + tt.text + `, "other": 1}`)))(t)
			if got, issues := readEnvironments(tree); len(issues) > 0 || !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, %v", got, issues)
			}
		})
	}
}

func TestReadEnvironmentsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                               ": the workspace file is a JSON object, not an array",
		`{}`:                               `/environments: environments is missing: expected an array like ["development", "production"]`,
		`{"environments": {"a": {}}}`:      "/environments: environments is an array, not an object",
		`{"environments": null}`:           "/environments: environments is an array, not null",
		`{"environments": ["a", null]}`:    `/environments/1: an environment is a name, or an object with a "name"`,
		`{"environments": [{"name": ""}]}`: `/environments/0: an environment is a name, or an object with a "name"`,
		`{"environments": [{"name": "a", "environmentType": 1}]}`: "/environments/0: environmentType is a string such as production",
		`{"environments": [{"name": "a", "archived": "yes"}]}`:    "/environments/0: archived is true or false, not a string",
		`{"environments": ["a", {"name": "a"}]}`:                  `/environments/1: the environment "a" is declared twice`,
		`{"environments": ` + listOf(201) + `}`:                   "/environments/200: a workspace has at most 200 environments, archived ones included, and here are 201; remove those that nobody uses",
	} {
		tree := must.Get(jsontree.Parse([]byte(text)))(t)
		_, issues := readEnvironments(tree)
		if len(issues) != 1 || issues[0].Pointer+": "+issues[0].Message != want {
			t.Errorf("%s: %+v, want %s", text, issues, want)
		}
	}
}

// listOf is a list of so many environments.
func listOf(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"e%d"`, i)
	}
	return "[" + strings.Join(list, ",") + "]"
}
