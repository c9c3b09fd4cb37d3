package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/testing/memoryrepository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/webhook"
)

var ada = repository.Signature{Name: "Ada <!channel>", Email: "ada@example.com", When: time.Date(2026, 11, 27, 11, 0, 0, 0, time.UTC)}

// shop is a world whose events are commits.
type shop struct {
	*world
	repo *memoryrepository.Repository
}

func newShop(t *testing.T, edit webhook.Edit) *shop {
	t.Helper()
	w := newWorld(t, bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), webhook.FormStandard)
	s := &shop{w, memoryrepository.New()}
	s.push(map[string]string{"svc.json": `{"environments":["production","staging"]}`, "feature-flags/dark-mode.json": flag("dark-mode", "")})
	w.sender.Sources = func(context.Context, string) (map[string]webhook.Source, error) {
		return map[string]webhook.Source{webhook.SourceHistory: &webhook.History{Workspace: "w", Head: s.repo.Head(), Commits: s.repo, Feed: webhook.Feed()}}, nil
	}
	w.manager.Head = func(context.Context) (webhook.Position, error) {
		return webhook.Position{Commit: s.repo.Head().Commit}, nil
	}
	must.Do(t, w.manager.Delete(t.Context(), w.hook.ID))
	name, kinds, address := "changes", []string{webhook.KindChange}, "http://127.0.0.1:1"
	edit.Name = &name
	if edit.Kinds == nil {
		edit.Kinds = &kinds
	}
	if edit.Address == nil {
		edit.Address = &address
	}
	hook, _, err := w.manager.Create(t.Context(), edit)
	must.Do(t, err)
	w.hook = hook
	return s
}

func (s *shop) push(files map[string]string) repository.Commit {
	return s.repo.Push(ada, "by hand", files)
}

func flag(key, more string) string {
	return `{"key":"` + key + `","type":"feature_flag","valueType":"bool","tags":["web"],"default":{"rules":[]},"environments":[]` + more + `}`
}

// sent is what the standard form has of a change.
type sent struct {
	Type string
	Data struct {
		Commit  string
		Author  struct{ Name string }
		Entries []struct {
			Action, Type, Key string
			Messages          []struct{ Message string }
			Before, After     *string
		}
	}
}

func (s *shop) sent() (all []sent) {
	for _, d := range s.found().Waiting { // nobody takes anything
		one := sent{Type: d.Event.Kind}
		must.Do(s.T, json.Unmarshal(d.Event.Data, &one.Data))
		all = append(all, one)
	}
	return all
}

func TestACommitIsTold(t *testing.T) {
	s := newShop(t, webhook.Edit{})
	var commits []string
	for _, on := range []string{"true", "false", "true"} {
		commits = append(commits, s.push(map[string]string{"feature-flags/dark-mode.json": flag("dark-mode", `,"readyForCleanup":`+on)}).SHA)
	}
	s.push(map[string]string{"feature-flags/dark-mode.json": ""})
	s.send(0)
	all := s.sent()
	if len(all) != 4 {
		t.Fatalf("%d events", len(all))
	}
	for i, commit := range commits {
		if e := all[i].Data.Entries[0]; all[i].Data.Commit != commit || e.Key != "dark-mode" || e.Action != "updated" || len(e.Messages) == 0 || e.Before == nil || e.After == nil {
			t.Errorf("%d: %+v", i, all[i])
		}
	}
	first, second, third, last := all[0].Data.Entries[0], all[1].Data.Entries[0], all[2].Data.Entries[0], all[3].Data.Entries[0]
	if *first.After != *second.Before || *first.After != *third.After || *first.After == *second.After || last.After != nil || *last.Before != *third.After {
		t.Errorf("digests: %v", all)
	}
	if blob := memoryrepository.Sum(flag("dark-mode", `,"readyForCleanup":true`)); strings.Contains(*first.After, blob) {
		t.Error("a digest is that of git, with which values can be tried")
	}
}

// TestRequestsAreTold in order, page by page.
func TestRequestsAreTold(t *testing.T) {
	w := newWorld(t, bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), webhook.FormStandard)
	last := int64(70)
	w.sender.Sources = func(context.Context, string) (map[string]webhook.Source, error) {
		return map[string]webhook.Source{webhook.SourceRequests: webhook.Requests(func(_ context.Context, after int64, each func(webhook.Requested) (bool, error)) error {
			for n := after + 1; n <= last; n++ {
				r := webhook.Requested{Sequence: n, Number: n % 7, Title: "Dark mode <!channel>", Kind: "approved", At: ada.When}
				if more, err := each(r.By("Grace", "grace@example.com", false)); !more || err != nil {
					return err
				}
			}
			return nil
		})}, nil
	}
	for range 3 {
		w.send(0)
	}
	if len(w.got) != 70 {
		t.Fatalf("%d were sent", len(w.got))
	}
	if want := `"link":"https://flags.example.com/console/#/requests/1","previousParked":false,"data":{"number":1,"title":"Dark mode \u003c!channel\u003e","kind":"approved","author":{"name":"Grace","email":"grace@example.com","isServiceAccount":false}}}`; !strings.HasSuffix(w.got[0].body, want) {
		t.Errorf("sent %s, want %s", w.got[0].body, want)
	}
}

// TestALargeCommit is one entry, and everything waits for it.
func TestALargeCommit(t *testing.T) {
	s := newShop(t, webhook.Edit{})
	files := map[string]string{}
	for i := range 25 {
		files[fmt.Sprintf("feature-flags/f%d.json", i)] = flag(fmt.Sprint("f", i), "")
	}
	s.push(files)
	s.push(map[string]string{"segments/beta.json": `{"key":"beta","type":"segment","default":{"rules":[]}}`})
	s.send(0)
	all := s.sent()
	if len(all) != 2 || len(all[0].Data.Entries) != 1 || !strings.Contains(all[0].Data.Entries[0].Messages[0].Message, "25 items") || s.found().Waiting[1].Attempts != 0 {
		t.Errorf("%+v", all)
	}
}

// TestNothingConfidentialIsTold, in no form, and no more than the activity tells.
func TestNothingConfidentialIsTold(t *testing.T) {
	s := newShop(t, webhook.Edit{})
	config := func(value string) string {
		return `{"key":"api","type":"config","valueType":"string","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"` + value + `","confidential":true}}]},"environments":[]}`
	}
	s.push(map[string]string{"configs/api.json": config("sesame-one")})
	s.push(map[string]string{"configs/api.json": config("sesame-two")})
	s.push(map[string]string{"configs/api.json": ""})
	s.send(0)
	all := s.found().Waiting
	if text := fmt.Sprintf("%+v", all); len(all) != 3 || strings.Contains(text, "sesame") {
		t.Errorf("%s", text)
	}
	for _, d := range all {
		if strings.Contains(string(d.Event.Data), "sesame") {
			t.Errorf("%s", d.Event.Data)
		}
	}
}

// TestFilters leave out what is elsewhere, and nothing else.
func TestFilters(t *testing.T) {
	list := func(names ...string) *[]string { return &names }
	rule := `,"environments":[{"id":"staging","rules":[]}]}`
	for name, c := range map[string]struct {
		edit webhook.Edit
		want []string
	}{
		"none":        {webhook.Edit{}, []string{"flag", "staging", "segment", "workspace"}},
		"environment": {webhook.Edit{Environments: list("production")}, []string{"flag", "segment", "workspace"}},
		"staging":     {webhook.Edit{Environments: list("staging")}, []string{"flag", "staging", "segment", "workspace"}},
		"type":        {webhook.Edit{Types: list("segment")}, []string{"segment"}},
		"tag":         {webhook.Edit{Tags: list("web")}, []string{"flag", "staging"}},
		"other tag":   {webhook.Edit{Tags: list("ios")}, []string{}},
		"audit":       {webhook.Edit{Kinds: list(webhook.KindAudit)}, []string{"workspace"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, c.edit)
			made := map[string]string{}
			made[s.push(map[string]string{"feature-flags/dark-mode.json": flag("dark-mode", `,"name":"Dark"`)}).SHA] = "flag"
			made[s.push(map[string]string{"feature-flags/dark-mode.json": strings.Replace(flag("dark-mode", `,"name":"Dark"`), `,"environments":[]`, "", 1)[:len(flag("dark-mode", `,"name":"Dark"`))-len(`,"environments":[]`)-1] + rule}).SHA] = "staging"
			made[s.push(map[string]string{"segments/beta.json": `{"key":"beta","type":"segment","default":{"rules":[]}}`}).SHA] = "segment"
			made[s.push(map[string]string{"svc.json": `{"environments":["production","staging","test"]}`}).SHA] = "workspace"
			s.send(0)
			got := []string{}
			for _, d := range s.found().Waiting {
				got = append(got, made[d.Event.ID[strings.LastIndex(d.Event.ID, "/")+1:]])
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestAForcedPush: what was not told before is no event any more, and the head is one.
func TestAForcedPush(t *testing.T) {
	s := newShop(t, webhook.Edit{})
	s.push(map[string]string{"feature-flags/dark-mode.json": flag("dark-mode", `,"name":"One"`)})
	s.send(0)
	s.repo.ForcePush("feature-flags/dark-mode.json", flag("dark-mode", `,"name":"Two"`))
	s.send(0)
	s.send(0)
	if all := s.sent(); len(all) != 2 || all[1].Data.Commit != s.repo.Head().Commit {
		t.Errorf("%+v", all)
	}
}

// TestForms: nothing in a text is taken for a mention or a link, or for Markdown.
func TestForms(t *testing.T) {
	for _, form := range []string{webhook.FormSlack, webhook.FormTeams} {
		w := newWorld(t, bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), form)
		w.events.add("<!channel> & <@U1> [a](https://b) *c*")
		w.send(0)
		body := w.got[0].body
		var text struct {
			Text        string
			Attachments []struct {
				ContentType string
				Content     struct {
					Type string
					Body []struct {
						Type    string
						Inlines []struct{ Type, Text string }
					}
					Actions []struct{ Type, URL string }
				}
			}
		}
		must.Do(t, json.Unmarshal([]byte(body), &text))
		switch form {
		case webhook.FormSlack:
			if want := "*event 1*\n• of &lt;!channel&gt; &amp; &lt;@U1&gt; [a](https://b) *c*\n<https://flags.example.com/console/#/requests/1|Open in the console>"; text.Text != want {
				t.Errorf("%s, want %s", text.Text, want)
			}
		case webhook.FormTeams:
			card := text.Attachments[0].Content
			if card.Type != "AdaptiveCard" || card.Body[1].Type != "RichTextBlock" || card.Body[1].Inlines[0].Type != "TextRun" || card.Actions[0].URL == "" || strings.Contains(body, `"TextBlock"`) {
				t.Errorf("%s", body)
			}
		}
	}
}
