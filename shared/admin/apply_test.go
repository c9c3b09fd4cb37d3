package admin

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/apply"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// plan is one of what a directory changes, made in a process of its own.
func (s *service) plan(t testing.TB, w *Workspace, dir string) *apply.Plan {
	t.Helper()
	other := must.Get(s.Find(ctx, w.ID))(t)
	return must.Get(apply.New(ctx, other.Workspace, dir, plainPath))(t)
}

// commit commits files as another writer does, who waits for its turn; "" deletes one.
func commit(w *Workspace, files map[string]string) error {
	turn := &repository.Turn{}
	defer turn.Leave(ctx)
	draft := repository.Draft{Author: ada(), Committer: ada(), Message: "By others\n", Turn: turn}
	for path, text := range files {
		change := repository.Change{Path: path}
		if text != "" {
			change.Content = []byte(text)
		}
		draft.Changes = append(draft.Changes, change)
	}
	for {
		base, err := w.Snapshot(ctx)
		if err == nil {
			_, err = w.repo.Commit(ctx, base, draft)
		}
		if !errors.Is(err, repository.ErrMoved) {
			return err
		}
	}
}

// compact is a document without spaces, which Apply writes in its own way.
func compact(text string) string { return strings.Join(strings.Fields(text), "") }

// texts are the files of a workspace, compact.
func texts(t testing.TB, w *Workspace) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range must.Get(w.Snapshot(ctx))(t).Files {
		all[f.Path] = compact(string(f.Text))
	}
	return all
}

// TestTwoApply: of two who change the same file one lands, and the other is told; what only
// keys have changed is no reason.
func TestTwoApply(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	var plans []*apply.Plan
	for _, tag := range []string{"x", "y", "z"} {
		dir := directory(t, "a")
		write(t, dir, "feature-flags/a.json", tagged(tag))
		plans = append(plans, s.plan(t, w, dir))
	}
	key(t, w)
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
			} else if errors.Is(err, apply.ErrHeadMoved) {
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

// tagged is the flag a with a tag.
func tagged(tag string) string {
	return strings.Replace(flag("a", false), `"tags": []`, `"tags": ["`+tag+`"]`, 1)
}

// TestApplyLandsBesideASteadyWriter of another file, which it keeps.
func TestApplyLandsBesideASteadyWriter(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a", "b"))
	dir := directory(t, "a", "b")
	write(t, dir, "feature-flags/b.json", flag("b", true))
	p := s.plan(t, w, dir)
	begun, end := make(chan struct{}), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ; i++ {
			if err := commit(w, map[string]string{"feature-flags/a.json": tagged(strings.Repeat("x", 1+i%2))}); err != nil {
				t.Error(err)
			}
			if i == 0 {
				close(begun)
			}
			select {
			case <-end:
				return
			default:
			}
		}
	})
	<-begun
	_, err := p.Apply(ctx, ada(), "")
	close(end)
	writing.Wait()
	if kept := []string{"feature-flags/a.json"}; err != nil || !slices.Equal(p.Kept, kept) {
		t.Errorf("%v, kept %q", err, p.Kept)
	}
	now := texts(t, w)
	if !strings.Contains(now["feature-flags/a.json"], `["x`) || now["feature-flags/b.json"] != compact(flag("b", true)) {
		t.Errorf("the workspace has %q", now)
	}
	clean(t, w)
}

// TestApplyOntoWhatOthersCommit: the directory gives b another text and lacks the segment
// beta.
func TestApplyOntoWhatOthersCommit(t *testing.T) {
	const segment = `{"key": "beta", "type": "segment", "valueType": "bool", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}}`
	refers := strings.Replace(flag("a", false), `{"operator": "ALWAYS_TRUE"}`, `{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "beta"}}`, 1)
	for name, row := range map[string]struct {
		others map[string]string
		want   string // in the error, "" for none
	}{
		"a file is added":            {map[string]string{"feature-flags/c.json": flag("c", false)}, ""},
		"a file is deleted":          {map[string]string{"feature-flags/a.json": ""}, ""},
		"the environments":           {map[string]string{"svc.json": strings.Replace(declared, "[", `["qa", `, 1)}, ""},
		"the same file":              {map[string]string{"feature-flags/b.json": strings.Replace(flag("b", false), `[]`, `["x"]`, 1), "feature-flags/c.json": flag("c", false)}, apply.ErrHeadMoved.Error()},
		"what it deletes is changed": {map[string]string{"segments/beta.json": strings.Replace(segment, "false", "true", 1)}, apply.ErrHeadMoved.Error()},
		"what it deletes is used":    {map[string]string{"feature-flags/a.json": refers}, "and with this it would have errors; nothing was written:\nfeature-flags/a.json"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			from, dir := directory(t, "a", "b"), directory(t, "a", "b")
			write(t, from, "segments/beta.json", segment)
			write(t, dir, "feature-flags/b.json", flag("b", true))
			git(t, dir, "init", "-q")
			git(t, dir, "add", ".")
			git(t, dir, "commit", "-q", "-m", "x")
			w := s.create(t, "acme", from)
			p := s.plan(t, w, dir)
			must.Do(t, commit(w, row.others))
			before := texts(t, w)
			_, err := p.Apply(ctx, ada(), "")
			now := texts(t, w)
			for path, text := range row.others {
				if now[path] != compact(text) {
					t.Errorf("%s is %q now", path, now[path])
				}
			}
			switch {
			case row.want != "":
				if err == nil || !strings.Contains(err.Error(), row.want) || now["feature-flags/b.json"] != before["feature-flags/b.json"] {
					t.Errorf("%v, and b is %s", err, now["feature-flags/b.json"])
				}
			case err != nil || len(p.Kept) != len(row.others) || now["feature-flags/b.json"] != compact(flag("b", true)) || now["segments/beta.json"] != "":
				t.Errorf("%v, kept %q; now %q", err, p.Kept, now)
			default: // the directory has not seen it, and its next Apply does not undo it by the way
				if drift, err := s.plan(t, w, dir).Drift(ctx); err != nil || !slices.Equal(drift, p.Kept) {
					t.Errorf("unknown to the directory: %q, %v", drift, err)
				}
			}
		})
	}
}

// TestApplyBypassesWhatTheAuditTrailKnows: an environment that others have reviewed from
// meanwhile is told too.
func TestApplyBypassesWhatTheAuditTrailKnows(t *testing.T) {
	s := newService(t)
	from, dir := directory(t, "a"), directory(t, "a")
	declare := func(environments string) string {
		return strings.Replace(declared, "]", `], "review": {`+environments+`}`, 1)
	}
	write(t, from, "svc.json", declare(`"production": {"approvals": 1}`))
	write(t, dir, "svc.json", declare(`"production": {"approvals": 1}`))
	write(t, dir, "feature-flags/a.json", flag("a", true))
	w := s.create(t, "acme", from)
	other := must.Get(s.Find(ctx, w.ID))(t)
	var told [][]string
	other.Bypassed = func(_ context.Context, environments []string) error {
		if told = append(told, environments); len(told) > 1 {
			return nil
		}
		base := must.Get(w.Snapshot(ctx))(t)
		_, err := w.repo.Commit(ctx, base, repository.Draft{Author: ada(), Committer: ada(), Message: "By others\n", Approved: true,
			Changes: []repository.Change{{Path: "svc.json", Content: []byte(declare(`"production": {"approvals": 1}, "development": {"approvals": 1}`))}}})
		return err
	}
	p := must.Get(apply.New(ctx, other.Workspace, dir, plainPath))(t)
	_, err := p.Apply(ctx, ada(), "")
	if want := [][]string{{"production"}, {"development", "production"}}; err != nil || !reflect.DeepEqual(told, want) {
		t.Errorf("%v, the audit trail was told of %q", err, told)
	}
}
