package overrides

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

func value(t testing.TB, text string) *jsontree.Node {
	t.Helper()
	n := must.Get(jsontree.Parse([]byte(text)))(t)
	return n
}

func testFile(t testing.TB) File {
	t.Helper()
	state := t.TempDir()
	f := must.Get(Of(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, t.TempDir(), "development"))(t)
	return f
}

func keys(t testing.TB, f File) string {
	t.Helper()
	all := must.Get(f.Read())(t)
	var words []string
	for _, o := range all {
		word := o.Key + "=" + string(o.Value.Compact())
		if o.For != nil {
			word += " for " + o.For.String()
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func TestWhatIsSetIsReadAndCleared(t *testing.T) {
	f, ctx := testFile(t), t.Context()
	u1 := &Property{"user.key", "u1"}
	for _, o := range []Override{
		{Key: "a", Value: value(t, `1`)},
		{Key: "b", Value: value(t, `null`)},
		{Key: "a", Value: value(t, `{"n":1.0}`), For: u1},
		{Key: "a", Value: value(t, `2`)},
		{Key: "over", Value: value(t, `2`), Until: time.Now().Add(-time.Second)},
		{Key: "c", Value: value(t, `"x"`), Until: time.Now().Add(time.Hour)},
	} {
		must.Do(t, f.Set(ctx, o))
	}
	if got, want := keys(t, f), `b=null, a={"n":1.0} for user.key=u1, a=2, c="x"`; got != want {
		t.Errorf("read are %s, want %s", got, want)
	}
	for path, want := range map[string]os.FileMode{f.Path: 0o600, filepath.Dir(f.Path): 0o700, filepath.Dir(filepath.Dir(f.Path)): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want && runtime.GOOS != "windows" {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if n, err := f.Clear(ctx, "a"); n != 2 || err != nil {
		t.Error(n, err)
	}
	if n, err := f.Clear(ctx, "a"); n != 0 || err != nil {
		t.Error(n, err)
	}
	if n, err := f.ClearAll(ctx); n != 2 || err != nil {
		t.Error(n, err)
	}
	if _, err := os.Stat(f.Path); !os.IsNotExist(err) {
		t.Error("without overrides there is a file")
	}
}

func TestABrokenFileIsNamedAndCleared(t *testing.T) {
	f := testFile(t)
	must.Do(t, f.Set(t.Context(), Override{Key: "a", Value: value(t, `1`)}))
	for _, text := range []string{`{`, ``, `{"overrides": [{"key": "a"}]}`, `{"overrides": [{"value": 1}]}`, `{"overrides": 1}`,
		`{"overrides": [{"key": "a", "value": 1, "for": {"property": "plan", "value": "x"}}]}`, strings.Repeat(" ", maxBytes+1)} {
		must.Do(t, os.WriteFile(f.Path, []byte(text), 0o600))
		if _, err := f.Read(); err == nil || !strings.Contains(err.Error(), f.Path) || !strings.Contains(err.Error(), "svc override clear") {
			t.Errorf("%.40s: %v", text, err)
		}
		if err := f.Set(t.Context(), Override{Key: "a", Value: value(t, `1`)}); err == nil {
			t.Errorf("%.40s: what cannot be read is overwritten", text)
		}
		if _, err := f.ClearAll(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestDirectoriesAndEnvironmentsAreApart, however a path leads to one.
func TestDirectoriesAndEnvironmentsAreApart(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	of := func(dir, environment string) string {
		f := must.Get(Of(getenv, dir, environment))(t)
		return f.Path
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	if of(dir, "a") != of(link, "a") {
		t.Error("a link to a directory is another directory")
	}
	if of(dir, "a") == of(dir, "b") || of(dir, "a") == of(state, "a") {
		t.Error("two environments or directories have one file")
	}
	if _, err := Of(func(string) string { return "" }, dir, "a"); err == nil {
		t.Error("overrides have a place without a home")
	}
}

// TestTwoProcessesLoseNothing: each sets overrides of its own at the same time.
func TestTwoProcessesLoseNothing(t *testing.T) {
	const each = 25
	if of := os.Getenv("SVC_TEST_OVERRIDES"); of != "" {
		f := File{Path: of, Datadir: "/d", Environment: "e"}
		for i := range each {
			must.Do(t, f.Set(context.Background(), Override{Key: fmt.Sprintf("%s-%d", os.Getenv("SVC_TEST_NAME"), i), Value: jsontree.NewBool(true)}))
		}
		return
	}
	f := testFile(t)
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestTwoProcessesLoseNothing$")
			cmd.Env = append(os.Environ(), "SVC_TEST_OVERRIDES="+f.Path, fmt.Sprint("SVC_TEST_NAME=p", i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	if list, err := f.Read(); err != nil || len(list) != 3*each {
		t.Errorf("of %d overrides %d are there (%v)", 3*each, len(list), err)
	}
}

func TestRulesOfOverrides(t *testing.T) {
	doc := func(text string) *document.Document {
		return document.View(value(t, text))
	}
	flag := doc(`{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]}}`)
	u1, pro := &Property{"user.key", "u1"}, &Property{"user.plan", "pro"}
	until := time.UnixMilli(1_700_000_000_000)
	rules := Rules([]Override{
		{Key: "f", Value: value(t, `true`), For: u1},
		{Key: "f", Value: value(t, `"true"`)},
		{Key: "f", Value: value(t, `true`)},
		{Key: "f", Value: value(t, `false`), For: pro, Until: until},
	}, flag)
	var got []string
	for _, r := range rules {
		words := string(r.Value.Content.Compact())
		for _, c := range r.Criteria {
			words += " " + c.PropertyName + " " + string(c.ValueToMatch.Content.Compact())
		}
		got = append(got, words)
	}
	if want := []string{`false user.plan ["pro"] svc.current-time 1700000000000`, `true user.key ["u1"]`, `true`}; !reflect.DeepEqual(got, want) {
		t.Errorf("rules are %q, want %q", got, want)
	}

	secret := `"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"s",%s}}]}`
	for text, want := range map[string]string{
		`{"key":"c","type":"config","valueType":"string","sendToClientSdk":true,` + fmt.Sprintf(secret, `"confidential":true`) + `}`: "confidential",
		`{"key":"c","type":"config","valueType":"string","sendToClientSdk":true,` + fmt.Sprintf(secret, `"decryptWith":"k"`) + `}`:   "encrypted",
		`{"key":"c","type":"config","valueType":"string","default":{"rules":[]}}`:                                                    "sendToClientSdk",
		`{"key":"c","type":"segment","valueType":"bool","default":{"rules":[]}}`:                                                     "no flag or config",
		`{"key":"c","type":"feature_flag","valueType":"int","default":{"rules":[]}}`:                                                 "number",
		`{"key":"c","type":"feature_flag","valueType":"string","default":{"rules":[]}}`:                                              "",
	} {
		o := Override{Key: "c", Value: value(t, `"x"`)}
		if problem := o.Problem(doc(text)); !strings.Contains(problem, want) || want == "" && problem != "" {
			t.Errorf("%s: %q, want %q", text, problem, want)
		}
	}
}

func TestValuesOfACommandLine(t *testing.T) {
	for _, tt := range []struct {
		valueType document.ValueType
		text      string
		want      string
	}{
		{"bool", "true", `true`}, {"bool", "yes", `"yes"`}, {"bool", `"yes"`, `"yes"`},
		{"int", "3", `3`}, {"double", "1.0", `1.0`},
		{"string", "blue", `"blue"`}, {"string", `"blue"`, `"blue"`}, {"string", "3", `"3"`}, {"string", "", `""`}, {"string", "true", `"true"`},
		{"duration", "PT5M", `"PT5M"`}, {"string_list", `["a"]`, `["a"]`}, {"json", `{"a": 1}`, `{"a":1}`}, {"json", "{a:1}", ``},
	} {
		got, err := ParseValue(tt.valueType, tt.text)
		if (err != nil) != (tt.want == "") || err == nil && string(got.Compact()) != tt.want {
			t.Errorf("%s %s is %s (%v), want %s", tt.valueType, tt.text, got.Compact(), err, tt.want)
		}
	}
}
