package admin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

func TestCreateFromADirectory(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a", "b"))
	found := clean(t, w)
	if found.Commits != 1 || found.Packs != 1 {
		t.Errorf("%+v", found)
	}
	again, err := s.Find(ctx, "acme")
	if err != nil || again.ID != w.ID || again.Provisioning {
		t.Errorf("%+v, %v", again, err)
	}
	if again, err = s.Find(ctx, ""); err != nil || again.ID != w.ID {
		t.Errorf("the only one is %+v, %v", again, err)
	}
	s.create(t, "other", directory(t))
	if _, err := s.Find(ctx, ""); err == nil || !strings.Contains(err.Error(), "--workspace") {
		t.Errorf("one of two: %v", err)
	}
	if _, err := s.Find(ctx, "none"); err == nil || !strings.Contains(err.Error(), "acme") {
		t.Errorf("none: %v", err)
	}
}

func TestCreateRefusesWhatCannotBeRead(t *testing.T) {
	dir := directory(t, "a")
	write(t, dir, "feature-flags/bad.json", "{")
	var refusal *source.Refusal
	if _, err := source.Read(ctx, dir, plainPath); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "bad.json:1") {
		t.Errorf("%v", err)
	}
	service := newService(t)
	unverified := directory(t)
	write(t, unverified, "feature-flags/f.json", strings.Replace(flag("f", false), `"f"`, `"other"`, 1))
	read, err := source.Read(ctx, unverified, plainPath)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Create(ctx, Creation{Name: "acme", Source: &read, Author: ada()}); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "f.json") {
		t.Errorf("what svc verify refuses: %v", err)
	}
	app := t.TempDir()
	write(t, app, "our-config/svc.json", declared)
	if _, err := source.Read(ctx, app, plainPath); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("%v", err)
	}
}

func TestExport(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a", "b"))
	s.edit(t, w, 30)
	target := filepath.Join(t.TempDir(), "out")
	commit, err := w.Export(ctx, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	git(t, target, "fsck", "--strict")
	if status := git(t, target, "status", "--porcelain"); status != "" {
		t.Errorf("the work tree differs: %s", status)
	}
	if head := strings.TrimSpace(git(t, target, "rev-parse", "HEAD")); head != commit {
		t.Errorf("the head is %s and not %s", head, commit)
	}
	if n := strings.TrimSpace(git(t, target, "rev-list", "--count", "HEAD")); n != "31" {
		t.Errorf("%s commits", n)
	}
	if _, err := w.Export(ctx, target, nil); err == nil {
		t.Error("a directory in use was taken")
	}
}

func TestApply(t *testing.T) {
	s := newService(t)
	dir := directory(t, "a", "b")
	w := s.create(t, "acme", dir)
	plan := func() *provision.Plan {
		t.Helper()
		p, err := w.Plan(ctx, dir, plainPath)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := plan(); len(p.Changes) != 0 {
		t.Fatalf("nothing has changed, and yet %+v", p.Changes)
	}
	write(t, dir, "feature-flags/a.json", strings.ReplaceAll(flag("a", false), "\n", "\r\n"))
	if p := plan(); len(p.Changes) != 0 {
		t.Fatalf("it only is written in another way: %+v", p.Changes)
	}
	write(t, dir, "feature-flags/a.json", flag("a", true))
	write(t, dir, "feature-flags/c.json", flag("c", true))
	write(t, dir, "schemas/s.json", `{"type": "object"}`)
	if err := os.Remove(filepath.Join(dir, "feature-flags", "b.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "svc.json")); err != nil {
		t.Fatal(err)
	}
	p := plan()
	var got []string
	for _, c := range p.Changes {
		got = append(got, c.Action+" "+c.Path)
	}
	want := "changed feature-flags/a.json, deleted feature-flags/b.json, added feature-flags/c.json, added schemas/s.json"
	if strings.Join(got, ", ") != want {
		t.Errorf("the difference is %v", got)
	}
	if m := p.Changes[0].Messages; len(m) != 1 || m[0] != "default: enabled set to true" {
		t.Errorf("what changed in a: %q", m)
	}
	commit, err := p.Apply(ctx, ada(), "")
	if err != nil {
		t.Fatal(err)
	}
	now, err := w.Snapshot(ctx)
	if err != nil || now.Head.Commit != commit || now.Head.Sequence != 2 {
		t.Fatalf("%+v, %v", now, err)
	}
	if _, there := now.File("feature-flags/b.json"); there {
		t.Error("b is still there")
	}
	if f, _ := now.File("feature-flags/a.json"); f.Last.Author.Email != ada().Email || !strings.HasPrefix(f.Last.Message, "Apply "+filepath.Base(dir)+": 2 added, 1 changed, 1 deleted\n\nRequest-Id: ") {
		t.Errorf("the commit is %+v", f.Last)
	}
	if p := plan(); len(p.Changes) != 0 {
		t.Errorf("once applied there is still %+v", p.Changes)
	}
	clean(t, w)
}

func TestApplyRefusesADirectoryWithErrors(t *testing.T) {
	s := newService(t)
	dir := directory(t, "a")
	w := s.create(t, "acme", dir)
	write(t, dir, "feature-flags/a.json", strings.Replace(flag("a", true), "ALWAYS_TRUE", "IN_SEG", 1))
	write(t, dir, "feature-flags/b.json", strings.Replace(flag("b", true), `"bool"`, `"int"`, 1))
	_, err := w.Plan(ctx, dir, plainPath)
	var refusal *source.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "a.json:") || !strings.Contains(err.Error(), "b.json:") {
		t.Errorf("%v", err)
	}
}

// TestTwoApply: of two who began at one head one lands, and the other is told;
// what only keys have changed is no reason.
func TestTwoApply(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	var plans []*provision.Plan
	for _, key := range []string{"x", "y", "z"} {
		dir := directory(t, "a", key)
		other, err := s.Find(ctx, w.ID)
		if err != nil {
			t.Fatal(err)
		}
		p, err := other.Plan(ctx, dir, plainPath)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	landed, refused := 0, 0
	var lock sync.Mutex
	var all sync.WaitGroup
	for _, p := range plans {
		all.Go(func() {
			_, err := p.Apply(ctx, ada(), "")
			lock.Lock()
			defer lock.Unlock()
			if err == nil {
				landed++
			} else if errors.Is(err, provision.ErrHeadMoved) {
				refused++
			} else {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if landed != 1 || refused != 2 {
		t.Errorf("%d landed, %d were refused", landed, refused)
	}
	clean(t, w)
}

func TestAKeyDoesNotStopApply(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	p, err := w.Plan(ctx, directory(t, "a", "b"), plainPath)
	if err != nil {
		t.Fatal(err)
	}
	key(t, w)
	if _, err := p.Apply(ctx, ada(), "With a message"); err != nil {
		t.Error(err)
	}
}

func TestEnvironments(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	yes, kind := true, "test"
	edit := func(e provision.EnvironmentEdit) error {
		_, err := w.EditEnvironment(ctx, e, ada())
		return err
	}
	for _, e := range []provision.EnvironmentEdit{
		{Name: "qa", Add: true, Type: &kind}, {Name: "plain", Add: true}, {Name: "plain", Protected: &yes}, {Name: "development", Archived: &yes},
	} {
		if err := edit(e); err != nil {
			t.Fatal(err)
		}
	}
	for want, e := range map[string]provision.EnvironmentEdit{
		"already":                  {Name: "qa", Add: true},
		"archived":                 {Name: "development", Add: true},
		"not a slug":               {Name: "QA 2", Add: true},
		"reserved":                 {Name: "default", Add: true},
		`no environment "nowhere"`: {Name: "nowhere", Archived: &yes},
		"this is so already":       {Name: "production", Protected: &yes},
	} {
		if err := edit(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
	now, err := w.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	file, _ := now.File(workspace.File)
	want := `{
  "environments": [
    {
      "name": "development",
      "archived": true
    },
    {
      "name": "production",
      "protected": true
    },
    {
      "name": "qa",
      "environmentType": "test"
    },
    {
      "name": "plain",
      "protected": true
    }
  ]
}
`
	if string(file.Text) != want {
		t.Errorf("svc.json is %s", file.Text)
	}
	if !strings.HasPrefix(file.Last.Message, "environment development archived\n\nRequest-Id: ") {
		t.Errorf("the message is %q", file.Last.Message)
	}
	clean(t, w)
}

// TestUndeclaredEnvironments: the first one that is added does not make those
// unknown that the documents name.
func TestUndeclaredEnvironments(t *testing.T) {
	s := newService(t)
	dir := t.TempDir()
	write(t, dir, "feature-flags/a.json", strings.Replace(flag("a", false), `"environments": []`, `"environments": [{"id": "live", "rules": []}]`, 1))
	w := s.create(t, "acme", dir)
	if _, err := w.EditEnvironment(ctx, provision.EnvironmentEdit{Name: "qa", Add: true}, ada()); err != nil {
		t.Fatal(err)
	}
	all, declared, err := w.Environments(ctx)
	if err != nil || !declared || len(all) != 2 || all[0].Name != "live" || all[1].Name != "qa" {
		t.Errorf("%v, %v, %v", all, declared, err)
	}
}

// TestVersionsAreToldOfEveryCommit: else clients take everything again, twice.
func TestVersionsAreToldOfEveryCommit(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	told := func() string {
		t.Helper()
		head, err := w.ledger.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		known, found := versions.Find(head.Versions, "production")
		if !found {
			t.Fatal("no versions are told")
		}
		return known.SDK.String()
	}
	first := told()
	if _, err := w.EditEnvironment(ctx, provision.EnvironmentEdit{Name: "qa", Add: true}, ada()); err != nil {
		t.Fatal(err)
	}
	if added := told(); added != first {
		t.Errorf("%s became %s with another environment", first, added)
	}
	if _, err := w.Reindex(ctx, "", Checking{}); err != nil {
		t.Fatal(err)
	}
	if again := told(); again != first {
		t.Errorf("%s became %s with new rows", first, again)
	}
}

// TestANewWorkspaceGuardsReferences: also one that is made from nothing.
func TestANewWorkspaceGuardsReferences(t *testing.T) {
	s := newService(t)
	w, err := s.Create(ctx, Creation{Name: "empty"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.EditEnvironment(ctx, provision.EnvironmentEdit{Name: "qa", Add: true}, ada()); err != nil {
		t.Fatal(err)
	}
	if ws, err := w.Read(ctx); err != nil || !ws.GuardedReferences() {
		t.Errorf("%v, %+v", err, ws)
	}
}

func TestApplyNotesThatLookupsAreOpened(t *testing.T) {
	s := newService(t)
	dir := directory(t, "a")
	write(t, dir, "svc.json", strings.Replace(declared, "{", `{"secretReferences": "protected", `, 1))
	w := s.create(t, "acme", dir)
	write(t, dir, "svc.json", declared)
	plan, err := w.Plan(ctx, dir, plainPath)
	if err != nil || len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "secretReferences") {
		t.Errorf("%v, %+v", err, plan)
	}
}

// TestApplyNotesWhatADirectoryHasApplicationsUse: who applies it may not have
// written it, and nobody is asked for a permission.
func TestApplyNotesWhatADirectoryHasApplicationsUse(t *testing.T) {
	s := newService(t)
	dir := directory(t, "a")
	const config = `{"key": %q, "type": "config", "valueType": "string", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": %s}]}}`
	write(t, dir, "configs/master.json", fmt.Sprintf(config, "master", `{"type": "provided", "value": {"source": "ENV_VAR", "lookup": "MASTER"}}`))
	w := s.create(t, "acme", dir)
	write(t, dir, "configs/mine.json", fmt.Sprintf(config, "mine", `{"type": "string", "value": "c3RvbGVu", "decryptWith": "master"}`))
	write(t, dir, "configs/master.json", fmt.Sprintf(config, "master", `{"type": "provided", "value": {"source": "ENV_VAR", "lookup": "OTHER"}}`))
	for _, want := range [][]string{
		{`"configs/master.json": /default/rules/0/value now reads the environment of applications`, `"configs/mine.json": /default/rules/0/value now decrypts with the config "master"`},
		nil, // the second time nothing is new
	} {
		plan, err := w.Plan(ctx, dir, plainPath)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(plan.Notes, want) {
			t.Errorf("%q, want %q", plan.Notes, want)
		}
		if want != nil {
			if _, err := plan.Apply(ctx, ada(), ""); err != nil {
				t.Fatal(err)
			}
		}
	}
}
