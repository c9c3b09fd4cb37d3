package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

func TestSplitPath(t *testing.T) {
	for path, want := range map[string]struct {
		folder Folder
		key    string
	}{
		"feature-flags/a.json":        {Flags, "a"},
		"configs/a.b-c_d.json":        {Configs, "a.b-c_d"},
		"log-levels/log-level.x.json": {LogLevels, "log-level.x"},
		"segments/a.json.json":        {Segments, "a.json"},
		"schemas/S.json":              {Schemas, "S"},
		"svc.json":                    {},
		"segments/" + strings.Repeat("a", MaxName-5) + ".json": {Segments, strings.Repeat("a", MaxName-5)},
		"segments/" + strings.Repeat("a", MaxName-4) + ".json": {},
		"feature-flags/.a.json":                                {},
		"feature-flags/.json":                                  {},
		"feature-flags/a.JSON":                                 {},
		"feature-flags/a.json~":                                {},
		"feature-flags/a/b.json":                               {},
		"feature-flags":                                        {},
		"feature-flags/":                                       {},
		"Feature-Flags/a.json":                                 {},
		"/feature-flags/a.json":                                {},
		"x/feature-flags/a.json":                               {},
		"feature-flags/../svc.json":                            {},
		"../feature-flags/a.json":                              {},
		"feature-flags\\a.json":                                {},
		"":                                                     {},
	} {
		if folder, key, ok := SplitPath(path); folder != want.folder || key != want.key || ok != (want.key != "") {
			t.Errorf("SplitPath(%q) = %q, %q, %v", path, folder, key, ok)
		}
	}
}

func TestFoldersAndTypes(t *testing.T) {
	for _, of := range []document.Type{document.Flag, document.Config, document.LogLevel, document.Segment} {
		folder := FolderOf(of)
		if back, ok := folder.Type(); !ok || back != of {
			t.Errorf("%s is held by %s, which holds %s", of, folder, back)
		}
		if f, key, ok := SplitPath(Path(of, "a.b")); !ok || f != folder || key != "a.b" {
			t.Errorf("Path(%s) does not split again", of)
		}
	}
	if _, ok := Schemas.Type(); ok {
		t.Error("schemas hold no documents")
	}
	if FolderOf("schedule") != "" {
		t.Error("an unknown type has a folder")
	}
}

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
		{"positions within a type", `["a", "b", {"name": "c", "position": 2}, {"name": "d", "position": 1}, {"name": "e", "environmentType": "test", "position": 1}]`, []Environment{
			{Name: "d", Type: "development", Position: 1}, {Name: "c", Type: "development", Position: 2}, {Name: "a", Type: "development"}, {Name: "b", Type: "development"}, {Name: "e", Type: "test", Position: 1}}},
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
		`{"environments": [{"name": "a", "position": 1.5}]}`:      "/environments/0: position is a whole number from 1 to 200",
		`{"environments": ["a", {"name": "a"}]}`:                  `/environments/1: the environment "a" is declared twice`,
		`{"environments": ` + listOf(201) + `}`:                   "/environments/200: a workspace has at most 200 environments, archived ones included, and here are 201; remove those that nobody uses",
	} {
		tree := must.Get(jsontree.Parse([]byte(text)))(t)
		if _, issues := readEnvironments(tree); len(issues) != 1 || issues[0].Pointer+": "+issues[0].Message != want {
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

// TestAnEditDecodesOneDocument: the others are as they were.
func TestAnEditDecodesOneDocument(t *testing.T) {
	const document = `{"key":%q,"type":"feature_flag","valueType":"bool","description":%q,"default":{"rules":[]},"environments":[{"id":"e%[1]s","rules":[]}]}`
	files := map[string][]byte{"schemas/s.json": []byte("{}")}
	for i := range 500 {
		key := fmt.Sprintf("f%d", i)
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, document, key, "")
	}
	var decoded atomic.Int32
	s := NewServable(func() func(item *Item) string {
		return func(item *Item) string { decoded.Add(1); return item.Key + item.View.Description }
	})
	for _, step := range []struct {
		name string
		edit func()
		want int32
	}{
		{"at first", func() {}, 500},
		{"nothing", func() {}, 0},
		{"one document", func() { files["feature-flags/f7.json"] = fmt.Appendf(nil, document, "f7", "x") }, 1},
		{"the workspace file", func() { files[File] = []byte(`{"environments":["e"]}`) }, 0},
		{"a broken one", func() { files["feature-flags/f8.json"] = []byte("{") }, 0},
		{"and mended", func() { files["feature-flags/f8.json"] = fmt.Appendf(nil, document, "f8", "y") }, 1},
		{"one gone", func() { delete(files, "feature-flags/f9.json") }, 0},
		{"one moved", func() {
			files["configs/f10.json"] = files["feature-flags/f10.json"]
			delete(files, "feature-flags/f10.json")
		}, 1},
	} {
		step.edit()
		decoded.Store(0)
		var got, want []string
		ws, problems := s.Read(maps.Clone(files), func(of string) { got = append(got, of) })
		if n := decoded.Load(); n != step.want {
			t.Errorf("%s: %d documents are decoded, not %d", step.name, n, step.want)
		}
		fresh, found := ReadServable(files, func(item *Item) { want = append(want, item.Key+item.View.Description) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", step.name, got, want)
		}
		if !slices.Equal(problems, found) {
			t.Errorf("%s: %v, want %v", step.name, problems, found)
		}
		if len(ws.Items) != len(fresh.Items) || !slices.Equal(ws.Environments, fresh.Environments) || len(ws.Schemas) != 1 {
			t.Errorf("%s: the workspace is another", step.name)
		}
	}
}

// TestProblemsCostLittle: a megabyte of a mistake has some 20,000 problems. What is
// counted are allocations for each of them, that of reading it included.
func TestProblemsCostLittle(t *testing.T) {
	for name, test := range map[string]struct {
		rule string
		most float64
	}{
		"no rule at all":        {`1`, 13},
		"a number that is none": {`{"criteria":[],"value":{"type":"int","value":"x"}}`, 40},
		"a misspelt name":       {`{"critera":[],"value":{"type":"int","value":1}}`, 60},
		"another type":          {`{"criteria":[],"value":{"type":"string","value":"x"}}`, 38},
	} {
		const rules = 18_000
		files := map[string][]byte{"configs/c.json": fmt.Appendf(nil, `{"key":"c","type":"config","valueType":"int","default":{"rules":[%s]}}`,
			strings.TrimSuffix(strings.Repeat(test.rule+",", rules), ","))}
		made := testing.AllocsPerRun(1, func() {
			if _, found := ReadAndVerify(files); len(found) < 100 {
				t.Errorf("%s: %d problems", name, len(found))
			}
		}) / rules
		t.Logf("%s: %.1f allocations for each", name, made)
		if made > test.most {
			t.Errorf("%s: %.1f allocations for each, more than %.0f", name, made, test.most)
		}
	}
}
