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

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/database"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table"
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

// TestRequestsAreTold from when the webhook was made, in order, page by page, and in words.
func TestRequestsAreTold(t *testing.T) {
	tables(t, func(t *testing.T, rows table.Table) {
		store, changed := request.Store{Table: rows}, 0
		store.Changed = func() { changed++ }
		person := func(kind access.PrincipalType, name string) request.Person {
			return request.Person{Type: kind, ID: "0000000000000001", Name: name, Email: strings.ToLower(name) + "@example.com"}
		}
		create := func() *request.Request {
			r := &request.Request{State: request.Open, Title: "Dark mode <!channel>", Description: "Night is long.", Author: person(access.PrincipalServiceAccount, "ci"), CreatedAt: ada.When, Operations: "[]"}
			must.Do(t, store.Create(t.Context(), "w", r, nil))
			return r
		}
		happens := func(number int64, kind request.Kind, edit func(*request.Request)) {
			must.Get(store.Update(t.Context(), "w", number, kind, request.Mark{By: person(access.PrincipalUser, "Grace"), At: ada.When}, nil, func(r *request.Request) error {
				edit(r)
				return nil
			}))(t)
		}
		nothing := func(*request.Request) {}
		create() // before there is a webhook
		w := newWorld(t, rows, webhook.FormStandard)
		w.sender.Sources = func(context.Context, string) (map[string]webhook.Source, error) {
			return map[string]webhook.Source{webhook.SourceRequests: webhook.Requests{Store: store, Workspace: "w"}}, nil
		}
		r := create()
		for range 40 { // more than a page of what is not told
			happens(r.Number, request.WasBegun, nothing)
		}
		for _, kind := range []request.Kind{request.WasCommented, request.WasChanged, request.WasApproved, request.WasWithdrawn} {
			happens(r.Number, kind, nothing)
		}
		happens(r.Number, request.WasApplied, func(r *request.Request) { r.State, r.Commit = request.Applied, "abc" })
		happens(create().Number, request.WasClosed, func(r *request.Request) { r.State = request.Closed })
		for range 30 {
			happens(1, request.WasCommented, nothing)
		}
		for range 3 {
			w.send(0)
		}
		if changed != 3+40+5+1+30 {
			t.Errorf("%d changes were told at once", changed)
		}
		var kinds []string
		ids := map[string]bool{}
		for _, g := range w.got[:min(8, len(w.got))] {
			var sent struct {
				Link string
				Data struct{ Kind string }
			}
			must.Do(t, json.Unmarshal([]byte(g.body), &sent))
			kinds, ids[g.id] = append(kinds, sent.Data.Kind+" "+sent.Link[strings.LastIndex(sent.Link, "/")+1:]), true
		}
		if got := strings.Join(kinds, ", "); got != "created 2, commented 2, changed 2, approved 2, withdrawn 2, applied 2, created 3, closed 3" || len(w.got) != 8+30 || len(ids) != 8 {
			t.Fatalf("%d were sent: %s", len(w.got), got)
		}
		for i, want := range map[int]string{
			0: `"link":"https://flags.example.com/console/#/requests/2","previousParked":false,"data":{"number":2,"title":"Dark mode \u003c!channel\u003e","kind":"created","author":{"name":"ci","email":"ci@example.com","isServiceAccount":true},"commit":null,"description":"Night is long."}}`,
			5: `"kind":"applied","author":{"name":"Grace","email":"grace@example.com","isServiceAccount":false},"commit":"abc","description":"Night is long."}}`,
		} {
			if !strings.HasSuffix(w.got[i].body, want) {
				t.Errorf("sent %s, want %s", w.got[i].body, want)
			}
		}
		for form, want := range map[string]string{
			webhook.FormSlack: `{"text":"*Grace no longer approves change request 1*\n• Dark mode \u0026lt;!channel\u0026gt;\n• Night is long.\n\u003chttps://flags.example.com/console/#/requests/1|Open in the console\u003e","unfurl_links":false}`,
			webhook.FormTeams: `"text":"Grace no longer approves change request 1","type":"TextRun","weight":"Bolder"`,
		} {
			w.hook = must.Get(w.manager.Change(t.Context(), w.hook.ID, webhook.Edit{Form: &form}))(t)
			happens(1, request.WasWithdrawn, nothing)
			w.send(0)
			if got := w.got[len(w.got)-1].body; !strings.Contains(got, want) {
				t.Errorf("%s: sent %s, want %s", form, got, want)
			}
		}
	})
}

// trail is a registry whose audit trail is given.
type trail struct {
	registry
	entries []access.Entry
}

func (r *trail) Trail(context.Context, int) ([]access.Entry, error) { return r.entries, nil }

// TestARestoredWorkspaceCountsAnew: what happens after a restore has the numbers of what
// happened after the backup, and is something else to a receiver.
func TestARestoredWorkspaceCountsAnew(t *testing.T) {
	ids := map[string]bool{}
	for n := range 2 {
		at := ada.When.Add(time.Duration(n) * time.Second)
		kept := &trail{entries: []access.Entry{{Version: 7, At: at, By: "Ada", Changes: []access.Change{{Action: access.WebhookDeleted, Subject: "x"}}}}}
		store := request.Store{Table: bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db")))}
		must.Do(t, store.Create(t.Context(), "w", &request.Request{State: request.Open, Title: "t", CreatedAt: at, Operations: "[]"}, nil))
		for _, source := range []webhook.Source{webhook.Audit{Registry: access.NewRegistry(kept, nil, nil), Access: 7}, webhook.Requests{Store: store, Workspace: "w"}} {
			for range 2 { // the same both times
				events, _, err := source.After(t.Context(), &webhook.Webhook{}, "0")
				if err != nil || len(events) != 1 {
					t.Fatal(events, err)
				}
				ids[events[0].ID] = true
			}
		}
	}
	if len(ids) != 4 {
		t.Errorf("4 events have the ids %v", ids)
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
		w.events.add("production: enabled set to false")
		w.send(0)
		if body := w.got[0].body; !strings.Contains(body, "production: turned off") {
			t.Errorf("a switch is told as %s", body)
		}
		w.got = nil
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
			if want := "*event 2*\n• of &lt;!channel&gt; &amp; &lt;@U1&gt; [a](https://b) *c*\n<https://flags.example.com/console/#/requests/1|Open in the console>"; text.Text != want {
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
