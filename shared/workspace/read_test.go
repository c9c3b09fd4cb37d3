package workspace

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

const declaration = `{
  "environments": [
    "development",
    {"name": "staging", "environmentType": "staging"},
    {"name": "production", "environmentType": "production", "protected": true},
    {"name": "old", "archived": true}
  ]
}`

// serve is a document whose rules serve one value to everyone.
func serve(t document.Type, key, valueType, value string) string {
	return fmt.Sprintf(`{
  "key": %q,
  "type": %q,
  "valueType": %q,
  "default": {
    "rules": [
      {
        "criteria": [{"operator": "ALWAYS_TRUE"}],
        "value": %s
      }
    ]
  }
}`, key, t, valueType, value)
}

// segment is a segment of the contexts that are in the others.
func segment(key string, others ...string) string {
	var rules []string
	for _, other := range others {
		rules = append(rules, fmt.Sprintf(`{"criteria": [{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": %q}}], "value": {"type": "bool", "value": true}}`, other))
	}
	return fmt.Sprintf(`{"key": %q, "type": "segment", "valueType": "bool", "default": {"rules": [
%s
]}}`, key, strings.Join(rules, ",\n"))
}

// sound is a workspace without a problem.
func sound() map[string]string {
	return map[string]string{
		"svc.json":                   declaration,
		"feature-flags/new-nav.json": serve(document.Flag, "new-nav", "bool", `{"type": "bool", "value": true}`),
		"configs/limits.json": `{"key": "limits", "type": "config", "valueType": "json", "schemaKey": "limits", "default": {"rules": [
			{"criteria": [{"operator": "NOT_IN_SEG", "valueToMatch": {"type": "string", "value": "beta"}}], "value": {"type": "json", "value": {"max": 5}}}]},
			"environments": [{"id": "old", "rules": []}, {"id": "production", "rules": [
			{"criteria": [{"operator": "PROP_MATCHES", "propertyName": "user.email", "valueToMatch": {"type": "string", "value": "^a+@"}}], "value": {"type": "json", "value": "c1ph3r", "decryptWith": "master.key"}}]}]}`,
		"configs/master.key.json":         serve(document.Config, "master.key", "string", `{"type": "provided", "value": {"source": "ENV_VAR", "lookup": "KEY"}}`),
		"log-levels/log-level.cart.json":  serve(document.LogLevel, "log-level.cart", "log_level", `{"type": "log_level", "value": "WARN"}`),
		"segments/beta.json":              segment("beta", "staff"),
		"segments/staff.json":             segment("staff"),
		"schemas/limits.json":             `{"type": "object", "properties": {"max": {"type": "integer", "maximum": 10}}}`,
		"README.md":                       "not a part",
		"feature-flags/.new-nav.json.swp": "not a part",
		"feature-flags/deeper/a.json":     "not a part",
		"other/a.json":                    "not a part",
	}
}

func files(texts map[string]string) map[string][]byte {
	all := map[string][]byte{}
	for path, text := range texts {
		all[path] = []byte(text)
	}
	return all
}

func read(t *testing.T, texts map[string]string) *Workspace {
	t.Helper()
	ws, problems := Read(files(texts))
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return ws
}

func said(problems []Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, fmt.Sprintf("%s:%d:%d: %s%s: %s", p.File, p.Line, p.Column, map[Severity]string{Warning: "warning ", Fatal: "fatal "}[p.Severity], p.Pointer, p.Message))
	}
	return all
}

func expect(t *testing.T, got []Problem, want ...string) {
	t.Helper()
	if !slices.Equal(said(got), want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(said(got), "\n  "), strings.Join(want, "\n  "))
	}
}

func TestReadTakesASoundWorkspace(t *testing.T) {
	ws := read(t, sound())
	var paths []string
	for _, item := range ws.Items {
		paths = append(paths, item.Path)
	}
	want := []string{"configs/limits.json", "configs/master.key.json", "feature-flags/new-nav.json", "log-levels/log-level.cart.json", "segments/beta.json", "segments/staff.json"}
	if !slices.Equal(paths, want) {
		t.Errorf("items %q", paths)
	}
	if item, ok := ws.Item(document.Config, "master.key"); !ok || item.Key != "master.key" || item.Read().View.Key != "master.key" {
		t.Error("the item of a key with a dot is not found")
	}
	if _, ok := ws.Item(document.Flag, "master.key"); ok {
		t.Error("a config is found as a flag")
	}
	if s, ok := ws.Schema("limits"); !ok || s.Key != "limits" {
		t.Error("the schema is not found")
	}
	if got := ws.Active(); !slices.Equal(got, []string{"development", "staging", "production"}) {
		t.Errorf("active: %q", got)
	}
	if e, ok := ws.Environment("old"); !ok || !e.Archived {
		t.Error("an archived environment is still known")
	}
	if e, _ := ws.Environment("production"); !e.Protected || e.Type != "production" {
		t.Errorf("%+v", e)
	}
}

func TestReadWithoutADeclaration(t *testing.T) {
	texts := sound()
	delete(texts, "svc.json")
	texts["feature-flags/a.json"] = `{"key": "a", "type": "feature_flag", "valueType": "bool", "default": {"rules": []},
		"environments": [{"id": "Production", "rules": []}, {"id": "test", "rules": []}, {"id": "production", "rules": []}]}`
	ws := read(t, texts)
	if got := ws.Active(); !slices.Equal(got, []string{"old", "test", "Production", "production"}) {
		t.Errorf("%q", got)
	}
	if ws.Declared || ws.Declaration.Tree != nil {
		t.Error("declared without a workspace file")
	}
}

func TestReadReportsEverythingAtOnce(t *testing.T) {
	_, problems := Read(files(map[string]string{
		"svc.json":              "{\n  \"environments\": [\"a\", 7, \"a\", {\"name\": \"b\", \"protected\": 1}, \"\"]\n}",
		"configs/broken.json":   "{\n  \"key\": \"broken\",\n}",
		"configs/empty.json":    "",
		"configs/twice.json":    "{\n  \"key\": \"twice\",\n  \"key\": \"twice\"\n}",
		"configs/array.json":    "[]",
		"configs/utf16.json":    "\xff\xfe{\x00}\x00",
		"configs/rules.json":    "{\n  \"key\": \"rules\",\n  \"type\": \"config\",\n  \"valueType\": \"int\",\n  \"default\": {\n    \"rules\": {}\n  }\n}",
		"configs/value.json":    "\xef\xbb\xbf{\r\n  \"key\": \"value\",\r\n  \"type\": \"config\", \"valueType\": \"bool\",\r\n  \"default\": {\"rules\": [{\"criteria\": [],\r\n    \"value\": {\"type\": \"bool\", \"value\": \"on\"}}]}\r\n}",
		"feature-flags/A.json":  serve(document.Flag, "A", "bool", `{"type": "bool", "value": true}`),
		"segments/a.json":       segment("a"),
		"schemas/broken.json":   "{",
		"schemas/a.json":        "{}",
		"log-levels/many.json":  `{"note": [` + strings.Repeat("[],", document.MaxValues) + `[]]}`,
		"log-levels/large.json": `{"note": "` + strings.Repeat("x", document.MaxSize) + `"}`,
	}))
	expect(t, problems,
		`configs/array.json:1:1: fatal : a document is a JSON object, not an array`,
		`configs/broken.json:2:18: fatal : not valid JSON: invalid character ',' at start of value`,
		`configs/empty.json:1:1: fatal : empty: expected a JSON value`,
		`configs/rules.json:6:14: fatal /default/rules: rules is an array, not an object`,
		`configs/twice.json:3:3: fatal /key: the name "key" stands twice in this object; keep one`,
		`configs/utf16.json:1:1: fatal : is written in UTF-16; save the file as UTF-8`,
		`configs/value.json:5:40: fatal /default/rules/0/value/value: a bool value is a boolean, not a string`,
		fmt.Sprintf(`log-levels/large.json:0:0: fatal : %d bytes; a file may have at most 1048576`, document.MaxSize+12),
		`log-levels/many.json:1:300005: fatal /note/99998: more than 100000 values (objects, arrays and what they hold)`,
		`schemas/broken.json:1:2: fatal : ends in the middle of a JSON value`,
		`segments/a.json:1:9: fatal /key: the key "a" is taken by feature-flags/A.json: keys are unique over flags, configs, log levels and segments, whatever their case`,
		`svc.json:2:25: fatal /environments/1: an environment is a name, or an object with a "name"`,
		`svc.json:2:28: fatal /environments/2: the environment "a" is declared twice`,
		`svc.json:2:33: fatal /environments/3: protected is true or false, not a number`,
		`svc.json:2:64: fatal /environments/4: an environment's name is empty`,
	)
	if got := len(FatalOnly(problems)); got != len(problems) {
		t.Errorf("%d of %d are fatal", got, len(problems))
	}
}

func TestReadOfHostileFiles(t *testing.T) {
	deep := strings.Repeat(`{"a":`, jsontree.MaxDepth+1) + "1" + strings.Repeat("}", jsontree.MaxDepth+1)
	for name, text := range map[string]string{
		"10 MB":              `{"note": "` + strings.Repeat("x", 10<<20) + `"}`,
		"10 MB of brackets":  strings.Repeat("[", 10<<20),
		"deep":               deep,
		"1 MB of brackets":   strings.Repeat("[", 1<<20),
		"a binary":           "\x7fELF\x02\x01\x00\x00",
		"zeros":              strings.Repeat("\x00", 4096),
		"a lone surrogate":   `{"key": "\ud800"}`,
		"a name, cut off":    `{"key`,
		"two documents":      "{}\n{}",
		"a comment":          "// hello\n{}",
		"a byte order mark":  "\xef\xbb\xbf",
		"two of them":        "\xef\xbb\xbf\xef\xbb\xbf{}",
		"a merge conflict":   "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> b\n",
		"escaped duplicates": `{"a": 1, "\u0061": 2}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Read(files(map[string]string{"configs/a.json": text, "configs/b.json": serve(document.Config, "b", "int", `{"type": "int", "value": 1}`)}))
			if len(problems) == 0 {
				t.Fatal("taken")
			}
			for _, p := range problems {
				if p.File != "configs/a.json" || p.Severity != Fatal || len(p.Message) > 200 {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

func TestReadTakesOddButHarmless(t *testing.T) {
	text := serve(document.Config, "a", "int", `{"type": "int", "value": 1}`)
	for name, text := range map[string]string{
		"a byte order mark":  "\xef\xbb\xbf" + text,
		"CRLF":               strings.ReplaceAll(text, "\n", "\r\n"),
		"white space around": "\n\n\t" + text + "\n\n",
		"one line":           strings.ReplaceAll(text, "\n", " "),
	} {
		ws, problems := Read(files(map[string]string{"configs/a.json": text}))
		if len(problems) > 0 || len(ws.Items) != 1 || ws.Items[0].Read().View.Key != "a" {
			t.Errorf("%s: %v", name, problems)
		}
		if string(ws.Items[0].Text) != text {
			t.Errorf("%s: the text is not the file's", name)
		}
	}
}

func TestLocateFindsLines(t *testing.T) {
	text := []byte("{\r\n  \"a\": [\n1,\n2]}\n")
	starts := lineStarts(text)
	for offset := range len(text) {
		line, column := starts.position(offset)
		if wantLine, wantColumn := jsontree.Position(text, offset); line != wantLine || column != wantColumn {
			t.Errorf("offset %d: %d:%d, want %d:%d", offset, line, column, wantLine, wantColumn)
		}
	}
}

func TestProblemAsALine(t *testing.T) {
	for want, p := range map[string]Problem{
		"a.json:3:9: bad (/x/0)":   {Severity: Error, File: "a.json", Line: 3, Column: 9, Pointer: "/x/0", Message: "bad"},
		"a.json:3:1: warning: odd": {Severity: Warning, File: "a.json", Line: 3, Column: 1, Message: "odd"},
		"a.json: bad":              {Severity: Fatal, File: "a.json", Message: "bad"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if Warning.String() != "warning" || Error.String() != "error" || Fatal.String() != "fatal" {
		t.Error("severities")
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range sound() {
		f.Add([]byte(declaration), []byte(text))
	}
	f.Add([]byte(`{"environments": [{"name": "a", "archived": 1}, {"name": 2}, null]}`), []byte(segment("doc", "doc")))
	f.Fuzz(func(t *testing.T, declared, text []byte) {
		in := map[string][]byte{"svc.json": declared, "segments/doc.json": text, "configs/other.json": text, "schemas/doc.json": text}
		ws, problems := ReadAndVerify(in)
		for _, p := range problems {
			if p.File == "" || p.Message == "" || p.Line < 0 || p.Column < 0 {
				t.Fatalf("%+v", p)
			}
		}
		for _, item := range ws.Items {
			NewVerification(ws).Of(*item.Read())
			SchemaIssues(ws, *item.Read(), new(document.Allowance), everywhere)
		}
	})
}

// mistaken is a document with so many rules that are none.
func mistaken(key string, rules int) []byte {
	return fmt.Appendf(nil, `{"key":%q,"type":"config","valueType":"int","default":{"rules":[%s]}}`, key, strings.TrimSuffix(strings.Repeat("1,", rules), ","))
}

// TestProblemsAreBounded: of each severity the first are told, and how many more
// there are; what is held meanwhile does not grow with them.
func TestProblemsAreBounded(t *testing.T) {
	const documents, rules = 12, 20_000
	files := map[string][]byte{}
	for i := range documents {
		key := fmt.Sprint("c", i)
		files["configs/"+key+".json"] = mistaken(key, rules)
	}
	misspelt := `"descripton":1`
	for i := range MaxProblems + 7 {
		key := fmt.Sprint("f", i)
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, `{"key":%q,"type":"feature_flag","valueType":"bool",%s,"default":{"rules":[]}}`, key, misspelt)
	}
	heap := func() int64 { // to which tests before may have added
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapSys)
	}
	before := heap()
	for name, read := range map[string]func() []Problem{
		"read":   func() []Problem { _, found := Read(files); return found },
		"served": func() []Problem { _, found := ReadServable(files, nil); return found },
		"verified": func() []Problem {
			_, found := ReadAndVerify(files)
			return found
		},
	} {
		found := read()
		listed, more := map[Severity]int{}, map[Severity]int{}
		for i, p := range found {
			if p.More == 0 {
				listed[p.Severity]++
			} else if more[p.Severity] += p.More; p.File != "" || i < len(found)-3 || !strings.Contains(p.String(), fmt.Sprintf("and %d more ", p.More)) {
				t.Errorf("%s: %d: %v", name, i, p)
			}
		}
		if listed[Fatal] != MaxProblems || listed[Fatal]+more[Fatal] != documents*rules {
			t.Errorf("%s: %d and %d more of %d", name, listed[Fatal], more[Fatal], documents*rules)
		}
		if name == "verified" && (listed[Warning] != MaxProblems || more[Warning] != 7) {
			t.Errorf("%s: %d and %d more warnings", name, listed[Warning], more[Warning])
		}
		if listed[Error]+more[Error] != 0 {
			t.Errorf("%s: what was said is said again: %d", name, listed[Error]+more[Error])
		}
		if grown := heap() - before; grown > 120<<20 {
			t.Errorf("%s: %d MB of heap", name, grown>>20)
		}
	}
}

// TestNoMoreProblemsAreSought than somebody wants: documents after those are not
// looked at. Who wants all is told each, those that are bounded too.
func TestNoMoreProblemsAreSought(t *testing.T) {
	files := map[string][]byte{}
	for i := range 20 {
		files[fmt.Sprintf("configs/c%d.json", i)] = mistaken(fmt.Sprint("c", i), 2*MaxProblems)
	}
	seek := func(most int) (told int, allocations float64) {
		allocations = testing.AllocsPerRun(1, func() {
			told = 0
			VerifyEach(files, func(p Problem) bool {
				if told++; p.More > 0 || p.Line != 1 {
					t.Fatalf("%+v", p)
				}
				return told < most
			})
		})
		return told, allocations
	}
	told, some := seek(MaxProblems + 1)
	each, all := seek(math.MaxInt)
	t.Logf("%.0f allocations for %d problems, %.0f for all", some, told, all)
	if each != 20*2*MaxProblems {
		t.Errorf("%d problems are told of all", each)
	}
	if told != MaxProblems+1 || some > all/8 {
		t.Errorf("%d problems are told, with %.0f allocations; all take %.0f", told, some, all)
	}
}

// A document of a megabyte that is nothing but mistakes takes little more than to
// be read: the places of all of them are looked for at once.
func TestADocumentOfNothingButMistakes(t *testing.T) {
	rules := make([]string, 4000)
	for i := range rules {
		rules[i] = fmt.Sprintf(`{"criteria":[{"operator":"PROP_MATCHES","propertyName":"user.a",
"valueToMatch":{"type":"string","value":"(?i)[a-\uffff](%d"}}],"value":{"type":"bool","value":true}}`, i)
	}
	text := `{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[` + strings.Join(rules, ",\n") + `]}}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, problems := ReadServable(map[string][]byte{"feature-flags/f.json": []byte(text)}, nil)
	runtime.ReadMemStats(&after)
	if len(problems) != jsontree.MaxIssues+1 || problems[1].Line != 4 {
		t.Errorf("%d problems, %v", len(problems), problems[1])
	}
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 160 { // 30; with the race detector 80
		t.Errorf("%d MB were made", made)
	}
}

// TestTheExpressionsOfAWorkspaceAreBounded together, each that differs counted
// once: the problem is that of the document which has no room.
func TestTheExpressionsOfAWorkspaceAreBounded(t *testing.T) {
	files := map[string][]byte{}
	put := func(key string, of int) {
		var rules []string
		for i := range 49 {
			rules = append(rules, fmt.Sprintf(`{"criteria":[{"operator":"PROP_MATCHES","propertyName":"user.a","valueToMatch":{"type":"string","value":"%d-%d|x{1000}"}}],"value":{"type":"bool","value":true}}`, of, i))
		}
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, `{"key":%q,"type":"feature_flag","valueType":"bool","default":{"rules":[%s]}}`, key, strings.Join(rules, ","))
	}
	check := func(want ...string) {
		t.Helper()
		_, served := ReadServable(files, nil)
		_, verified := ReadAndVerify(files)
		for _, found := range [][]Problem{FatalOnly(served), verified} {
			var at []string
			for _, p := range found {
				if strings.Contains(p.Message, "250000 instructions together") && strings.Contains(p.Message, "shorten") {
					at = append(at, p.File)
				}
			}
			if !slices.Equal(at, want) {
				t.Errorf("the problems are at %v, want %v", at, want)
			}
		}
	}
	for i := range 5 {
		put(fmt.Sprint("f", i), i)
	}
	put("same", 0)
	check()
	put("more", 7)
	check("feature-flags/more.json")
}
