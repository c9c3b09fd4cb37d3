package evaluation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"svc.example/svc/shared/testing/must"
)

// TestVectors: what others hold their clients to holds here. Every operator has a vector in
// which it holds, and one in which it does not.
func TestVectors(t *testing.T) {
	paths := must.Get(filepath.Glob("testdata/vectors/*.json"))(t)
	if len(paths) == 0 {
		t.Fatal("there are none")
	}
	held, failed := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		var groups []struct {
			Description, Environment string
			Documents                []json.RawMessage
			Cases                    []struct {
				Context  json.RawMessage
				Now      *int64
				Expected map[string]json.RawMessage
			}
		}
		must.Do(t, json.Unmarshal(must.Get(os.ReadFile(path))(t), &groups))
		for _, g := range groups {
			var sources []Source
			for _, text := range g.Documents {
				sources = append(sources, source(t, string(text)))
			}
			s := compile(g.Environment, sources...)
			var alone string // the operator that the group is about
			if rules := sources[0].Document.Default; len(sources) == 1 && len(rules) == 1 {
				alone = rules[0].Criteria[0].Operator
			}
			for _, c := range g.Cases {
				now := int64(testNow)
				if c.Now != nil {
					now = *c.Now
				}
				f := fill(t, s.NewFrame(now, noRandom), string(c.Context))
				for key, want := range c.Expected {
					got := "null"
					item, found := s.Find(key)
					if n := s.Evaluate(item, f); found && n != None {
						got = s.Answers[n].Value.Served().Canonical()
					}
					if !found || got != source(t, typed("x", "json", string(want))).Document.Default[0].Value.Served().Canonical() {
						t.Errorf("%s: %s for %s: %s is served as %s, want %s", path, g.Description, c.Context, key, got, want)
					}
				}
				f.Release()
				holds := string(c.Expected[sources[0].Key]) != "null"
				held[alone], failed[alone] = held[alone] || holds, failed[alone] || !holds
			}
		}
	}
	for operator := range operators {
		if !held[operator] || !failed[operator] {
			t.Errorf("%s has no vector in which it holds, or none in which it does not", operator)
		}
	}
}
