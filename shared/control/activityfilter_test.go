package control_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
)

// by is somebody who commits at a time.
func by(name string, when time.Time) repository.Signature {
	return repository.Signature{Name: name, Email: strings.ToLower(name) + "@example.com", When: when}
}

func TestActivityFilters(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("g"): boolFlag("g", "")})
	clock := now
	settings := w.settings()
	settings.Now = func() time.Time { return clock }
	service := control.New(settings)
	key := w.key(access.KindServiceAccount, "protected_engineer")
	toggles := func(item, scope string, at time.Duration) {
		t.Helper()
		clock = now.Add(at)
		s := must[*control.Session](t)(service.SessionOf(ctx, key.Reveal()))
		must[*change.PatchResult](t)(s.Changes().Patch(ctx, document.Flag, item, scope, change.ValuePatch{Enabled: ptr(true)}))
	}
	toggles("f", "production", 1*time.Hour)
	toggles("f", "staging", 2*time.Hour)
	w.repo.push(by("Lin", now.Add(-72*time.Hour)), "of last week, pushed now", map[string]string{path("g"): boolFlag("g", "", targets("pro", "bool", "true"), serves("bool", "false"))})
	toggles("g", "production", 3*time.Hour)
	toggles("g", "default", 4*time.Hour)
	many := map[string]string{}
	for i := range 25 {
		many[path(fmt.Sprint("m", i))] = boolFlag(fmt.Sprint("m", i), "")
	}
	w.repo.push(by("Lin", now.Add(5*time.Hour)), "many", many)

	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	for name, test := range map[string]struct {
		query feed.ActivityQuery
		want  string
	}{
		"all":                       {feed.ActivityQuery{}, "many, g default, g production, g by Lin, f staging, f production, f, g, svc.json"},
		"since":                     {feed.ActivityQuery{Since: at(3 * time.Hour)}, "many, g default, g production"},
		"until":                     {feed.ActivityQuery{Until: at(2 * time.Hour)}, "g by Lin, f production, f, g, svc.json"},
		"since and until":           {feed.ActivityQuery{Since: at(1 * time.Hour), Until: at(3*time.Hour + time.Second)}, "g production, f staging, f production"},
		"another zone":              {feed.ActivityQuery{Since: now.Add(4 * time.Hour).In(time.FixedZone("", -5*60*60)).Format(time.RFC3339)}, "many, g default"},
		"nothing is between":        {feed.ActivityQuery{Since: at(6 * time.Hour)}, ""},
		"a name":                    {feed.ActivityQuery{Author: "LIN"}, "many, g by Lin"},
		"an address":                {feed.ActivityQuery{Author: "lin@Example.com"}, "many, g by Lin"},
		"a service account's name":  {feed.ActivityQuery{Author: "Deploy bot"}, "g default, g production, f staging, f production"},
		"an id":                     {feed.ActivityQuery{Author: string(key.Principal())}, "g default, g production, f staging, f production"},
		"the beginning of an id":    {feed.ActivityQuery{Author: string(key.Principal())[:8]}, ""},
		"nobody":                    {feed.ActivityQuery{Author: "nobody"}, ""},
		"an environment":            {feed.ActivityQuery{Environment: "production"}, "many, g production, f production"},
		"the default rules":         {feed.ActivityQuery{Environment: "default"}, "many, g default, g by Lin, f, g"},
		"an archived environment":   {feed.ActivityQuery{Environment: "old"}, "many"},
		"an item":                   {feed.ActivityQuery{Type: "feature_flag", Key: "g", Environment: "production"}, "g production"},
		"an item, nothing passes":   {feed.ActivityQuery{Type: "feature_flag", Key: "f", Author: "Lin"}, ""},
		"all at once":               {feed.ActivityQuery{Since: at(0), Until: at(4 * time.Hour), Author: "deploy bot", Environment: "production"}, "g production, f production"},
		"beyond those git has made": {feed.ActivityQuery{Since: at(-time.Hour), Environment: "staging"}, "many, f staging"},
	} {
		t.Run(name, func(t *testing.T) {
			for limit := 1; limit <= 10; limit += 3 {
				var got []string
				q := test.query
				q.Limit = &limit
				for range 20 {
					list := must[*feed.ActivityList](t)(w.boss().Activity(ctx, q))
					for _, e := range list.Activity {
						got = append(got, briefly(e))
					}
					if q.Cursor = list.NextCursor; q.Cursor == "" {
						break
					}
				}
				if strings.Join(got, ", ") != test.want {
					t.Errorf("pages of %d: %s, want %s", limit, strings.Join(got, ", "), test.want)
				}
			}
		})
	}
}

// briefly tells apart the entries of the test above.
func briefly(e feed.Activity) string {
	switch {
	case e.Key == nil && e.Action == "created" && len(e.Messages) == 1 && strings.Contains(e.Messages[0].Message, "items"):
		return "many"
	case e.Key == nil:
		return "svc.json"
	case e.AuthorName == "Lin":
		return *e.Key + " by Lin"
	case e.Action == "created":
		return *e.Key
	}
	return *e.Key + " " + e.Messages[0].Scope
}

func TestActivityFiltersThatAreWrong(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	for name, test := range map[string]struct {
		query    feed.ActivityQuery
		want     string
		pointers string
	}{
		"a date":             {feed.ActivityQuery{Since: "2026-03-04"}, "400 BAD_REQUEST", "?since"},
		"no zone":            {feed.ActivityQuery{Until: "2026-03-04T10:15:00"}, "400 BAD_REQUEST", "?until"},
		"a plus as a space":  {feed.ActivityQuery{Until: "2026-03-04T10:15:00 01:00"}, "400 BAD_REQUEST", "?until"},
		"both":               {feed.ActivityQuery{Since: "yesterday", Until: "now"}, "400 BAD_REQUEST", "?since ?until"},
		"the wrong way":      {feed.ActivityQuery{Since: "2026-03-04T10:15:00Z", Until: "2026-03-04T11:15:00+01:00"}, "400 BAD_REQUEST", "?since"},
		"no environment":     {feed.ActivityQuery{Environment: "prod"}, "404 NOT_FOUND", ""},
		"no item":            {feed.ActivityQuery{Type: "feature_flag", Key: "none", Author: "ada"}, "404 NOT_FOUND", ""},
		"a key alone":        {feed.ActivityQuery{Key: "f", Since: "x"}, "400 BAD_REQUEST", "?type ?since"},
		"a cursor of others": {feed.ActivityQuery{PageQuery: feed.PageQuery{Cursor: "x"}, Since: "x"}, "400 BAD_REQUEST", "?cursor ?since"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.boss().Activity(ctx, test.query)
			if got := pointers(wantRefusal(t, err, test.want), "issues"); got != test.pointers {
				t.Errorf("issues at %q, want %q", got, test.pointers)
			}
		})
	}
}

// TestAFilterLooksThroughABoundedPart: what nothing passes takes several requests,
// each of which goes on where the one before has ended; what is surely over ends.
func TestAFilterLooksThroughABoundedPart(t *testing.T) {
	w := newWorld(t, nil)
	const commits = 9000
	for i := range commits {
		w.repo.push(by("Lin", now.Add(time.Duration(i)*time.Minute)), "", map[string]string{path("f"): boolFlag("f", fmt.Sprintf(`,"n":%d`, i))})
	}
	for name, test := range map[string]struct {
		query          feed.ActivityQuery
		requests, most int // most reads of the history for one of them
		entries        int
	}{
		"nobody":        {feed.ActivityQuery{Author: "nobody"}, 2, 12, 0},
		"somebody late": {feed.ActivityQuery{Author: "ada"}, 2, 12, 1},
		"before all":    {feed.ActivityQuery{Until: now.Add(time.Minute).Format(time.RFC3339)}, 2, 12, 2},
		"lately":        {feed.ActivityQuery{Since: now.Add((commits - 3) * time.Minute).Format(time.RFC3339)}, 1, 8, 3},
	} {
		t.Run(name, func(t *testing.T) {
			entries, q := 0, test.query
			for n := 1; ; n++ {
				before := w.repo.count("History")
				list := must[*feed.ActivityList](t)(w.boss().Activity(ctx, q))
				if reads := w.repo.count("History") - before; reads > test.most {
					t.Errorf("request %d read the history %d times, want %d at most", n, reads, test.most)
				}
				entries += len(list.Activity)
				if q.Cursor = list.NextCursor; q.Cursor == "" || n > 10 {
					if n != test.requests || entries != test.entries {
						t.Errorf("%d requests brought %d entries, want %d and %d", n, entries, test.requests, test.entries)
					}
					return
				}
			}
		})
	}
}
