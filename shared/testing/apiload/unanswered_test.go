package apiload

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// repository is a history in the making, by git's own means.
type repository struct {
	Git
	documents map[string]string
}

func newRepository(t *testing.T) *repository {
	r := &repository{Git{testenv.Program(t, "install git", "git"), t.TempDir()}, map[string]string{}}
	r.Run(t, "init", "--quiet", "--initial-branch=main")
	for path, text := range Fixture() {
		value := must.Get(parse([]byte(text)))(t)
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(r.Dir, path)), 0o777))
		r.write(t, path, Canonical(value))
	}
	r.commit(t)
	return r
}

func (r *repository) write(t *testing.T, path, text string) {
	r.documents[path] = text
	must.Do(t, os.WriteFile(filepath.Join(r.Dir, path), []byte(text), 0o666))
}

func (r *repository) commit(t *testing.T) string {
	r.Run(t, "add", ".")
	r.Run(t, "commit", "--quiet", "--allow-empty", "--author", "client <"+AuthorOf(0)+">", "--message", "a change")
	return r.Run(t, "rev-parse", "HEAD")
}

// land makes the commit of an operation, and the answer to it.
func (r *repository) land(t *testing.T, o *Operation) *Answer {
	path := PathOf(o.Family, o.Key)
	after, before := o.edits(r.documents[path]), r.Run(t, "rev-parse", "HEAD")
	r.write(t, path, after.text)
	return &Answer{Status: 200, Changed: true, Commit: r.commit(t), Previous: before, Text: after.rules}
}

// TestManyRequestsWithoutAnswer: an order is found among more of them than
// could be tried in every way, as long as git tells what they wrote.
func TestManyRequestsWithoutAnswer(t *testing.T) {
	for _, test := range []struct {
		name    string
		nothing string // what is served by the requests that make no commit
		change  func(*Load, *repository)
		want    string
	}{
		{name: "each commit has its request", nothing: "red"},
		{name: "equal requests", nothing: "green"},
		{name: "a commit that nobody asked for", nothing: "red", want: "no request without an answer can have made", change: func(_ *Load, r *repository) {
			r.land(t, &Operation{Kind: Serve, Family: "flags", Key: stringFlag, Scope: "staging", Value: "blue"})
		}},
		{name: "a request that took effect twice", nothing: "red", want: "30 requests have made 31 commits", change: func(l *Load, r *repository) {
			last := l.Records[len(l.Records)-1]
			last.Call, last.Back, last.Op = last.Call+20, last.Call+25, l.Records[0].Op // blue again, and answered
			last.Answer = r.land(t, last.Op)
			l.Records = append(l.Records, last)
			r.land(t, l.Records[1].Op)
		}},
		{name: "an answer that says no other commit was there", nothing: "red", want: "headline: 60 explained", change: func(l *Load, _ *repository) {
			last := l.Records[len(l.Records)-1]
			last.Call, last.Back, last.Op = last.Call+20, last.Call+25, &Operation{Kind: ReadDocument, Family: "flags", Key: stringFlag}
			last.Answer = &Answer{Status: 200, Commit: l.Records[0].Answer.Commit, Text: "{}"}
			l.Records = append(l.Records, last)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRepository(t)
			l := &Load{authors: []string{AuthorOf(0)}}
			send := func(value string, land, answer bool) {
				o := &Operation{Kind: Serve, Family: "flags", Key: stringFlag, Scope: "default", Value: value}
				call := int64(10 * len(l.Records))
				a, back := &Answer{Open: true, Reason: "cut off"}, int64(math.MaxInt64)
				if land {
					if landed := r.land(t, o); answer {
						a, back = landed, call+5
					}
				}
				l.Records = append(l.Records, Record{0, o, a, call, back})
			}
			for range 30 {
				send("blue", true, true)
				send("green", true, false)
				send(test.nothing, false, false)
			}
			if test.change != nil {
				test.change(l, r)
			}
			found := l.JudgeAll(t, r.Git)
			problems := append(append(found.Order, found.History...), found.Unknown...)
			if got := strings.Join(problems, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}
