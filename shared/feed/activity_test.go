package feed_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/testing/documents"
)

// lines are entries in short.
func lines(entries []feed.Activity) []string {
	var all []string
	for _, e := range entries {
		what := "null"
		if e.Type != nil {
			what = *e.Type + "/" + *e.Key
		}
		var messages []string
		for _, m := range e.Messages {
			messages = append(messages, "["+m.Scope+"] "+m.Message)
		}
		all = append(all, e.Action+" "+what+" "+strings.Join(messages, "; "))
	}
	return all
}

func wantLines(t *testing.T, list *feed.ActivityList, want ...string) {
	t.Helper()
	if got := strings.Join(lines(list.Activity), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestActivity(t *testing.T) {
	w := newWorld(t, nil)
	w.writes(grace, now, path("f"), flag("f", ""))
	w.writes(grace, now, path("f"), flag("f", "", "production"))
	w.repo.Push(ada, "by hand", map[string]string{
		path("f"):         flag("f", `,"tags":["checkout"]`),
		"configs/c.json":  config("c", "blue"),
		"schemas/s.json":  `{}`,
		"README.md":       "not a part of the layout",
		"svc.json":        "{ }",
		"segments/s.json": "no JSON",
	})
	w.repo.Push(ada, "only a note", map[string]string{"README.md": "more"})
	w.repo.Push(ada, "again", map[string]string{"configs/c.json": "", "segments/s.json": "other text", "schemas/s.json": ""})
	list := w.page(feed.ActivityQuery{})
	wantLines(t, list,
		`deleted config/c [] config "c" deleted`,
		`deleted schema/s [] schema "s" deleted`,
		`updated segment/s [] segment "s" is not a JSON object`,
		`created config/c [] config "c" created; [default] default: serve "blue" to everyone`,
		`updated feature_flag/f [production] production: own rules removed; the default rules hold; [] tags: added checkout`,
		`created schema/s [] schema "s" created`,
		`created segment/s [] segment "s" is not a JSON object`,
		`updated null [] the workspace file svc.json updated`,
		`updated feature_flag/f [production] production: enabled set to true`,
		`created feature_flag/f [] flag "f" created; [default] default: enabled set to false`,
		`created null [] the workspace file svc.json created`,
	)
	if list.NextCursor != "" {
		t.Error("a cursor without a next page")
	}
	first := list.Activity[len(list.Activity)-2]
	if want := fmt.Sprintf(`{"sha":"%s","date":"2026-03-02T09:30:00Z","authorName":"Grace","authorEmail":"grace@example.com","isServiceAccount":false,`+
		`"action":"created","type":"feature_flag","key":"f","messages":[{"scope":"","message":"flag \"f\" created"},{"scope":"default","message":"default: enabled set to false"}]}`,
		first.SHA); documents.Wire(t, first) != want {
		t.Errorf("got\n%s, want\n%s", documents.Wire(t, first), want)
	}
	before := w.repo.Count("At")
	if w.page(feed.ActivityQuery{}); w.repo.Count("At") != before {
		t.Error("what was worked out once is read again")
	}
}

func TestActivityPagesCutCommitsApart(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 6 {
		files := map[string]string{"README.md": fmt.Sprint(i)}
		for j := range i {
			files[path(fmt.Sprint("f", j))] = flag(fmt.Sprint("f", j), fmt.Sprintf(`,"n":%d`, i))
		}
		w.repo.Push(ada, "", files)
		for range 5 {
			w.repo.Push(ada, "", map[string]string{"README.md": ""})
		}
	}
	all := lines(w.page(feed.ActivityQuery{}).Activity)
	if len(all) != 16 {
		t.Fatalf("%d entries", len(all))
	}
	for limit := 1; limit <= 16; limit++ {
		entries, _ := w.all(feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: &limit}})
		if walked := lines(entries); !slices.Equal(walked, all) {
			t.Fatalf("limit %d:\n%s", limit, strings.Join(walked, "\n"))
		}
	}
}

// TestActivityOfLargeDocuments: few of them are compared for a page, and those
// who walk on find all.
func TestActivityOfLargeDocuments(t *testing.T) {
	w := newWorld(t, nil)
	const items = 18
	for round := range 2 {
		files := map[string]string{}
		for i := range items {
			key := fmt.Sprint("c", i)
			files["configs/"+key+".json"] = config(key, strings.Repeat(fmt.Sprint(round), 900<<10))
		}
		w.repo.Push(ada, "", files)
	}
	all, q := 0, feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(100)}}
	for {
		list := w.page(q)
		if len(list.Activity) == 0 || len(list.Activity) > 13 { // 4 MiB, and those that were being read
			t.Fatalf("%d large documents were compared for a page", len(list.Activity))
		}
		all += len(list.Activity)
		if q.Cursor = list.NextCursor; q.Cursor == "" {
			break
		}
	}
	if all != 2*items+1 {
		t.Errorf("%d entries, want %d", all, 2*items+1)
	}
}

// TestActivityOfABusyRepository: what a page costs is bounded also where
// thousands of commits touch no item, and following the cursors finds the rest.
func TestActivityOfABusyRepository(t *testing.T) {
	w := newWorld(t, map[string]string{path("a"): flag("a", "")})
	for range 11_000 {
		w.repo.Push(ada, "elsewhere", nil)
	}
	w.repo.Push(ada, "", map[string]string{path("b"): flag("b", "")})
	if entries, pages := w.all(feed.ActivityQuery{}); len(entries) != 3 || *entries[0].Key != "b" || *entries[1].Key != "a" || pages != 3 {
		t.Errorf("%v on %d pages", lines(entries), pages)
	}
}

func TestActivityOfOneItem(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): flag("f", ""), path("g"): flag("g", ""), "schemas/s.json": "{}"})
	w.writes(grace, now, path("f"), flag("f", "", "default"))
	w.writes(grace, now, path("g"), flag("g", "", "default"))
	w.repo.Push(ada, "gone", map[string]string{path("f"): ""})
	wantLines(t, w.page(feed.ActivityQuery{Type: "feature_flag", Key: "f"}),
		`deleted feature_flag/f [] flag "f" deleted`,
		`updated feature_flag/f [default] default: enabled set to true`,
		`created feature_flag/f [] flag "f" created; [default] default: enabled set to false`)
	wantLines(t, w.page(feed.ActivityQuery{Type: "schema", Key: "s"}), `created schema/s [] schema "s" created`)
}

func TestACommitOfManyItemsIsOneEntry(t *testing.T) {
	w := newWorld(t, nil)
	files := map[string]string{"svc.json": "{ }"}
	for i := range 20 {
		files[path(fmt.Sprint("f", i))] = flag(fmt.Sprint("f", i), "")
	}
	w.repo.Push(ada, "twenty", files)
	if list := w.page(feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(100)}}); len(list.Activity) != 22 {
		t.Errorf("20 items: %d entries", len(list.Activity))
	}
	for i := range 20 {
		files[path(fmt.Sprint("f", i))] = flag(fmt.Sprint("f", i), `,"x":1`)
	}
	files["configs/c.json"] = config("c", "1")
	w.repo.Push(ada, "twenty-one", files)
	one := feed.PageQuery{Limit: ptr(1)}
	list := w.page(feed.ActivityQuery{PageQuery: one})
	wantLines(t, list, `updated null [] 21 items in one commit: 1 created, 20 updated`)
	if got := documents.Wire(t, list.Activity[0]); !strings.Contains(got, `"type":null,"key":null`) || !strings.Contains(got, `"items":[{"type":"config","key":"c"},{"type":"feature_flag","key":"f0"},`) ||
		len(list.Activity[0].Items) != 20 || list.Activity[0].ItemCount != 21 {
		t.Error(got)
	}
	wantLines(t, w.page(feed.ActivityQuery{Type: "feature_flag", Key: "f3", PageQuery: one}), `updated feature_flag/f3 [] other fields changed: x`)
}

// To amend or copy one of our commits takes its message along, not what it changed.
func TestMessagesOfACopiedCommitAreNotBelieved(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): flag("f", "")})
	w.repo.Push(ada, "f: production: enabled set to true\n\nSvc-Principal: service_account/x", map[string]string{path("f"): flag("f", `,"tags":["a"]`)})
	list := w.page(feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(1)}})
	wantLines(t, list, `updated feature_flag/f [] tags: added a`)
	if !list.Activity[0].IsServiceAccount {
		t.Error("the trailer says who acted")
	}
}

func TestActivityFilters(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): flag("f", ""), path("g"): flag("g", "")})
	w.writes(robot, now.Add(1*time.Hour), path("f"), flag("f", "", "production"))
	w.writes(robot, now.Add(2*time.Hour), path("f"), flag("f", "", "production", "staging"))
	w.repo.Push(by("Lin", now.Add(-72*time.Hour)), "of last week, pushed now", map[string]string{path("g"): strings.Replace(flag("g", ""), "false", "null", 1)})
	w.writes(robot, now.Add(3*time.Hour), path("g"), strings.Replace(flag("g", "", "production"), "false", "null", 1))
	w.writes(robot, now.Add(4*time.Hour), path("g"), flag("g", "", "production", "default"))
	many := map[string]string{}
	for i := range 25 {
		many[path(fmt.Sprint("m", i))] = flag(fmt.Sprint("m", i), "")
	}
	w.repo.Push(by("Lin", now.Add(5*time.Hour)), "many", many)

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
		"an id":                     {feed.ActivityQuery{Author: string(robot.ID)}, "g default, g production, f staging, f production"},
		"the beginning of an id":    {feed.ActivityQuery{Author: string(robot.ID)[:8]}, ""},
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
				q := test.query
				q.Limit = &limit
				entries, _ := w.all(q)
				var got []string
				for _, e := range entries {
					got = append(got, briefly(e))
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

func TestWrongQueriesOfActivity(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): flag("f", "")})
	limited := func(limit int) feed.ActivityQuery {
		return feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: &limit}}
	}
	for name, test := range map[string]struct {
		query feed.ActivityQuery
		want  string
	}{
		"a date":             {feed.ActivityQuery{Since: "2026-03-04"}, "BAD_REQUEST ?since"},
		"no zone":            {feed.ActivityQuery{Until: "2026-03-04T10:15:00"}, "BAD_REQUEST ?until"},
		"a plus as a space":  {feed.ActivityQuery{Until: "2026-03-04T10:15:00 01:00"}, "BAD_REQUEST ?until"},
		"both":               {feed.ActivityQuery{Since: "yesterday", Until: "now"}, "BAD_REQUEST ?since ?until"},
		"the wrong way":      {feed.ActivityQuery{Since: "2026-03-04T10:15:00Z", Until: "2026-03-04T11:15:00+01:00"}, "BAD_REQUEST ?since"},
		"no environment":     {feed.ActivityQuery{Environment: "prod"}, "NOT_FOUND"},
		"no item":            {feed.ActivityQuery{Type: "feature_flag", Key: "none", Author: "ada"}, "NOT_FOUND"},
		"another type":       {feed.ActivityQuery{Type: "config", Key: "f"}, "NOT_FOUND"},
		"a schema":           {feed.ActivityQuery{Type: "schema", Key: "f"}, "NOT_FOUND"},
		"no key":             {feed.ActivityQuery{Type: "feature_flag", Key: "../x"}, "NOT_FOUND"},
		"a type alone":       {feed.ActivityQuery{Type: "feature_flag"}, "BAD_REQUEST ?type"},
		"no type":            {feed.ActivityQuery{Type: "flag", Key: "f"}, "BAD_REQUEST ?type"},
		"a key alone":        {feed.ActivityQuery{Key: "f", Since: "x"}, "BAD_REQUEST ?type ?since"},
		"a cursor of others": {feed.ActivityQuery{PageQuery: feed.PageQuery{Cursor: "x"}, Since: "x"}, "BAD_REQUEST ?cursor ?since"},
		"too few":            {limited(0), "BAD_REQUEST ?limit"},
		"too many":           {limited(101), "BAD_REQUEST ?limit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.reader().Activity(ctx, test.query)
			wantRefusal(t, err, test.want)
		})
	}
}

// TestAFilterLooksThroughABoundedPart: what nothing passes takes several requests,
// each of which goes on where the one before has ended; what is surely over ends.
func TestAFilterLooksThroughABoundedPart(t *testing.T) {
	w := newWorld(t, nil)
	const commits = 9000
	for i := range commits {
		w.repo.Push(by("Lin", now.Add(time.Duration(i)*time.Minute)), "", map[string]string{path("f"): flag("f", fmt.Sprintf(`,"n":%d`, i))})
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
			before := w.repo.Count("History")
			entries, requests := w.all(test.query)
			if reads := w.repo.Count("History") - before; requests != test.requests || reads > test.most*requests || len(entries) != test.entries {
				t.Errorf("%d requests brought %d entries by %d reads of the history, want %d and %d by %d each", requests, len(entries), reads, test.requests, test.entries, test.most)
			}
		})
	}
}

// TestWhatAPageCosts: a page of history or of the feed is one question to the repository.
func TestWhatAPageCosts(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): flag("f", "")})
	for i := range 40 {
		w.writes(grace, now, path("f"), flag("f", fmt.Sprintf(`,"n":%d`, i)))
	}
	if list := w.page(feed.ActivityQuery{}); len(list.Activity) != 30 || list.NextCursor == "" {
		t.Errorf("%d entries unless asked, cursor %q", len(list.Activity), list.NextCursor)
	}
	cursor := ""
	for range 2 {
		for _, ask := range []func(){
			func() {
				cursor = w.page(feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(10), Cursor: cursor}}).NextCursor
			},
			func() { w.history(document.Flag, "f", feed.PageQuery{Limit: ptr(10)}) },
			func() { w.page(feed.ActivityQuery{Type: "feature_flag", Key: "f"}) },
		} {
			before := w.repo.Total()
			if ask(); w.repo.Total() != before+1 {
				t.Errorf("%d calls", w.repo.Total()-before)
			}
		}
	}
}
