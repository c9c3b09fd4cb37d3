package edit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

// versionOf is a document as a commit holds it, "" for none.
func versionOf(t testing.TB, text string) Version {
	t.Helper()
	if text == "" {
		return Version{}
	}
	return Version{[]byte(text), documents.Tree(t, text)}
}

// flagWith is a flag in short: its members beside the key, and rules by scope.
func flagWith(members, defaults string, environments ...string) string {
	return fmt.Sprintf(`{"key":"f"%s,"default":{"rules":[%s]},"environments":[%s]}`, members, defaults, strings.Join(environments, ","))
}

func entryOf(id, rules string) string { return fmt.Sprintf(`{"id":%q,"rules":[%s]}`, id, rules) }

func TestUndo(t *testing.T) {
	plain := flagWith("", "1")
	for _, test := range []struct {
		name, before, after, now, want string
		overlaps                       string
	}{
		{"right after", plain, flagWith(` , "x":1`, "2"), flagWith(` , "x":1`, "2"), plain, ""},
		{"a creation", "", plain, plain, "", ""},
		{"a creation that is spelled otherwise by now", "", plain, plain + " ", "", ""},
		{"a deletion", plain, "", "", plain, ""},
		{"taken back already", plain, flagWith("", "2"), plain, plain, ""},
		{"a creation that is gone already", "", plain, "", "", ""},
		{"a deletion that came back already", plain, "", plain + " ", plain + " ", ""},
		{"another environment has come", flagWith("", "1"), flagWith("", "1", entryOf("p", "2")),
			flagWith("", "1", entryOf("p", "2"), entryOf("s", "3")), flagWith("", "1", entryOf("s", "3")), ""},
		{"another environment has changed", flagWith("", "1", entryOf("p", "1"), entryOf("s", "1")), flagWith("", "1", entryOf("p", "2"), entryOf("s", "1")),
			flagWith("", "1", entryOf("p", "2"), entryOf("s", "3")), flagWith("", "1", entryOf("p", "1"), entryOf("s", "3")), ""},
		{"an environment comes back in its place", flagWith("", "1", entryOf("p", "1"), entryOf("s", "1")), flagWith("", "1", entryOf("s", "1")),
			flagWith(`,"x":1`, "1", entryOf("s", "1")), flagWith(`,"x":1`, "1", entryOf("p", "1"), entryOf("s", "1")), ""},
		{"the first environment goes, and another has come", `{"key":"f"}`, `{"key":"f","environments":[{"id":"p"}]}`,
			`{"key":"f","environments":[{"id":"p"},{"id":"s"}]}`, `{"key":"f","environments":[{"id":"s"}]}`, ""},
		{"the last environment comes back, and another has come", `{"key":"f","environments":[{"id":"p"}]}`, `{"key":"f"}`,
			`{"key":"f","environments":[{"id":"s"}]}`, `{"key":"f","environments":[{"id":"p"},{"id":"s"}]}`, ""},
		{"the first tag goes, and had gone", `{"key":"f","x":1}`, `{"key":"f","tags":["a"],"x":1}`, `{"key":"f","tags":[],"x":2}`, `{"key":"f","x":2}`, ""},
		{"a rule came before, and the fallback changed", flagWith("", "9"), flagWith("", "5,9"), flagWith("", "5,8"), flagWith("", "8"), ""},
		{"the fallback changed, and a rule came before", flagWith("", "9"), flagWith("", "8"), flagWith("", "5,8"), flagWith("", "5,9"), ""},
		{"metadata beside rules", flagWith(`,"name":"a"`, "1"), flagWith(`,"name":"b"`, "1"), flagWith(`,"name":"b"`, "2"), flagWith(`,"name":"a"`, "2"), ""},
		{"a member comes back in its place", flagWith(`,"name":"a","x":1`, "1"), flagWith(`,"x":1`, "1"), flagWith(`,"x":2`, "1"), flagWith(`,"name":"a","x":2`, "1"), ""},
		{"rules like others came elsewhere", flagWith("", "1,5,9"), flagWith("", "2,5,9"), flagWith("", "2,5,5,9"), flagWith("", "1,5,5,9"), ""},
		{"tags", flagWith(`,"tags":["a"]`, "1"), flagWith(`,"tags":["a","b"]`, "1"), flagWith(`,"tags":["c","a","b"]`, "1"), flagWith(`,"tags":["c","a"]`, "1"), ""},

		{"the same rule again", flagWith("", "1", entryOf("p", "1")), flagWith("", "1", entryOf("p", "2")), flagWith("", "1", entryOf("a", "7"), entryOf("p", "3")), "", "/environments/1/rules/0"},
		{"a rule like it came before", flagWith("", "1,9"), flagWith("", "2,9"), flagWith("", "2,2,9"), "", "/default/rules/1"},
		{"a rule like it went", flagWith("", "1,2,9"), flagWith("", "2,2,9"), flagWith("", "2,9"), "", "/default/rules"},
		{"a rule came beside one like it", flagWith("", "1,9"), flagWith("", "1,1,9"), flagWith("", "2,1,9"), "", "/default/rules/0"},
		{"two places", flagWith(`,"name":"a"`, "1"), flagWith(`,"name":"b"`, "2"), flagWith(`,"name":"c"`, "3"), "", "/name /default/rules/0"},
		{"the list has been emptied", flagWith("", "1"), flagWith("", "2"), flagWith("", ""), "", "/default/rules"},
		{"two insertions in one place", flagWith("", "9"), flagWith("", "1,9"), flagWith("", "2,9"), "", "/default/rules/0"},
		{"a creation, changed since", "", flagWith("", "1", entryOf("p", "1")), flagWith(`,"name":"x"`, "1", entryOf("p", "2")), "", "/name /environments/0/rules"},
		{"a creation, and an entry gone since", "", flagWith("", "1", entryOf("p", "1")), flagWith("", "1"), "", "/environments"},
		{"a deletion, created anew since", plain, "", flagWith("", "2"), "", "/default/rules"},
		{"an edit, deleted since", plain, flagWith("", "2"), "", "", ""},
		{"a member that went is another now", flagWith(`,"x":1`, "1"), flagWith("", "1"), flagWith(`,"x":2`, "1"), "", "/x"},
		{"a member that came is gone", flagWith(`,"x":1`, "1"), flagWith(`,"x":2`, "1"), flagWith("", "1"), "", ""},
		{"an entry twice", flagWith("", "1", entryOf("p", "1"), entryOf("p", "1")), flagWith("", "1", entryOf("p", "2"), entryOf("p", "1")), flagWith("", "1", entryOf("p", "3"), entryOf("p", "1")), "", "/environments/0"},
		{"another kind", `{"x":1}`, `{"x":[1]}`, `{"x":{}}`, "", "/x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := versionOf(t, test.now)
			got, overlaps := Undo(now, versionOf(t, test.before), versionOf(t, test.after))
			refused := test.overlaps != "" || strings.HasSuffix(test.name, "deleted since") || strings.HasSuffix(test.name, "is gone")
			if strings.Join(overlaps, " ") != test.overlaps || len(overlaps) > 0 != refused {
				t.Fatalf("overlaps at %q", overlaps)
			}
			if refused {
				return
			}
			text := ""
			switch {
			case got.Text != nil:
				text = string(got.Text)
			case got.Tree != nil:
				text = string(got.Tree.Compact())
			}
			if text != test.want || got.Changed != (text != test.now) {
				t.Errorf("got %s, changed %t; want %s", text, got.Changed, test.want)
			}
		})
	}
}

// TestUndoTakesBackNothingElse: a change in one scope, then others elsewhere,
// and the first one undone, is as if there had only been the others.
func TestUndoTakesBackNothingElse(t *testing.T) {
	scopes := []string{"default", "development", "production", "staging", "test"}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 4)
		draw := func(name string) string {
			var rules []string
			for _, n := range list.Draw(t, name) {
				rules = append(rules, fmt.Sprint(n))
			}
			return strings.Join(rules, ",")
		}
		make := func(rules map[string]string) Version {
			var entries []string
			for _, scope := range scopes[1:] {
				if list, there := rules[scope]; there {
					entries = append(entries, entryOf(scope, list))
				}
			}
			text := flagWith("", rules["default"], entries...)
			tree := must.Get(jsontree.Parse([]byte(text)))(t)
			return Version{[]byte(text), tree}
		}
		before, first := map[string]string{}, rapid.SampledFrom(scopes).Draw(t, "scope")
		for _, scope := range scopes {
			if scope == "default" || rapid.Bool().Draw(t, scope) {
				before[scope] = draw(scope + " before")
			}
		}
		change := func(rules map[string]string, scope string) map[string]string {
			changed := map[string]string{}
			for name, list := range rules {
				changed[name] = list
			}
			if changed[scope] = draw(scope + " after"); scope != "default" && rapid.Bool().Draw(t, scope+" goes") {
				delete(changed, scope)
			}
			return changed
		}
		after := change(before, first)
		now, want := after, before
		for _, scope := range rapid.SliceOfDistinct(rapid.SampledFrom(scopes), func(s string) string { return s }).Draw(t, "others") {
			if scope == first {
				continue
			}
			now = change(now, scope)
			want = copyScope(want, now, scope)
		}
		got, overlaps := Undo(make(now), make(before), make(after))
		if len(overlaps) > 0 {
			t.Fatalf("overlaps at %q", overlaps)
		}
		if !jsontree.Equal(sorted(got.Tree), sorted(make(want).Tree)) {
			t.Fatalf("got %s, want %s", got.Tree.Compact(), make(want).Text)
		}
		back, overlaps := Undo(make(after), make(before), make(after))
		if len(overlaps) > 0 || string(back.Text) != string(make(before).Text) {
			t.Fatalf("right after: %q %q", back.Text, overlaps)
		}
	})
}

func copyScope(to, from map[string]string, scope string) map[string]string {
	copied := map[string]string{}
	for name, list := range to {
		copied[name] = list
	}
	delete(copied, scope)
	if list, there := from[scope]; there {
		copied[scope] = list
	}
	return copied
}

// sorted has the environments in the order of their ids, which says nothing.
func sorted(tree *jsontree.Node) *jsontree.Node {
	tree = tree.Clone()
	slices.SortFunc(tree.Get("environments").Items, func(a, b *jsontree.Node) int {
		return strings.Compare(string(a.Get("id").Compact()), string(b.Get("id").Compact()))
	})
	return tree
}

// TestUndoOfVeryManyMembers: each is found by its name, not looked for.
func TestUndoOfVeryManyMembers(t *testing.T) {
	object := func(n int, value string) Version {
		members := make([]string, n)
		for i := range members {
			members[i] = fmt.Sprintf(`"m%d":%s`, i, value)
		}
		return versionOf(t, `{"key":"c","type":"config","valueType":"json","extra":{`+strings.Join(members, ",")+`}}`)
	}
	now := object(48_000, "1")
	now.Tree.Get("extra").Set("another", jsontree.NewBool(true))
	now.Text = now.Tree.Encode()
	edited, overlaps := Undo(now, object(49_500, "0"), object(48_000, "1"))
	if members := len(edited.Tree.Get("extra").Members); len(overlaps) > 0 || members != 49_501 {
		t.Errorf("%d members, %d overlaps", members, len(overlaps))
	}
}
