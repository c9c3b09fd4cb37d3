package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
)

// feed is a page of activity in short lines.
func feedLines(list *feed.ActivityList) []string {
	var all []string
	for _, e := range list.Activity {
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

func wantFeed(t *testing.T, list *feed.ActivityList, want ...string) {
	t.Helper()
	if got := strings.Join(feedLines(list), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestActivity(t *testing.T) {
	w := newWorld(t, nil)
	s := w.boss
	must[*change.CreationResult](t)(s().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"}))
	must[*change.PatchResult](t)(s().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))
	w.repo.push(ada, "by hand", map[string]string{
		path("f"):         boolFlag("f", `,"tags":["checkout"]`),
		"configs/c.json":  configOf("c", "string", `"blue"`, ""),
		"schemas/s.json":  `{}`,
		"README.md":       "not a part of the layout",
		"svc.json":        strings.Replace(declaration, "staging", "stage", 1),
		"segments/s.json": "no JSON",
	})
	w.repo.push(ada, "only a note", map[string]string{"README.md": "more"})
	w.repo.push(ada, "again", map[string]string{"configs/c.json": "", "segments/s.json": "other text", "schemas/s.json": ""})
	list := must[*feed.ActivityList](t)(s().Activity(ctx, feed.ActivityQuery{}))
	wantFeed(t, list,
		`deleted config/c [] config "c" deleted`,
		`deleted schema/s [] schema "s" deleted`,
		`updated segment/s [] segment "s" is not a JSON object`,
		`created config/c [] config "c" created; [default] default: serve "blue" to everyone`,
		`updated feature_flag/f [production] production: own rules removed; the default rules hold; [] tags: added checkout; [] variants: 2 removed`,
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
		first.SHA); wire(t, first) != want {
		t.Errorf("got\n%s, want\n%s", wire(t, first), want)
	}
}

func TestActivityPagesCutCommitsApart(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 6 {
		files := map[string]string{}
		for j := range i {
			files[path(fmt.Sprint("f", j))] = boolFlag(fmt.Sprint("f", j), fmt.Sprintf(`,"n":%d`, i))
		}
		files["README.md"] = fmt.Sprint(i)
		w.repo.push(ada, "", files)
		for range 5 {
			w.repo.push(ada, "", map[string]string{"README.md": ""})
		}
	}
	all := feedLines(must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{})))
	if len(all) != 16 {
		t.Fatalf("%d entries", len(all))
	}
	for limit := 1; limit <= 16; limit++ {
		var walked []string
		page := feed.PageQuery{Limit: &limit}
		for range 20 {
			list := must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{PageQuery: page}))
			walked = append(walked, feedLines(list)...)
			if page.Cursor = list.NextCursor; page.Cursor == "" {
				break
			}
		}
		if strings.Join(walked, "\n") != strings.Join(all, "\n") {
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
			files["configs/"+key+".json"] = configOf(key, "string", `"`+strings.Repeat(fmt.Sprint(round), 900<<10)+`"`, "")
		}
		w.repo.push(ada, "", files)
	}
	all, limit := 0, 100
	page := feed.PageQuery{Limit: &limit}
	for {
		list := must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{PageQuery: page}))
		if len(list.Activity) == 0 || len(list.Activity) > 13 { // 4 MiB, and those that were being read
			t.Fatalf("%d large documents were compared for a page", len(list.Activity))
		}
		all += len(list.Activity)
		if page.Cursor = list.NextCursor; page.Cursor == "" {
			break
		}
	}
	if all != 2*items+1 {
		t.Errorf("%d entries, want %d", all, 2*items+1)
	}
}

func TestActivityShowsThirtyEntriesUnlessAsked(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 35 {
		w.repo.push(ada, "", map[string]string{path("f"): boolFlag("f", fmt.Sprintf(`,"n":%d`, i))})
	}
	list := must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{}))
	if len(list.Activity) != 30 || list.NextCursor == "" {
		t.Errorf("%d entries, cursor %q", len(list.Activity), list.NextCursor)
	}
}

// TestActivityOfABusyRepository: what a page costs is bounded also where
// thousands of commits touch no item, and following the cursors finds the rest.
func TestActivityOfABusyRepository(t *testing.T) {
	const elsewhere = 11_000
	w := newWorld(t, map[string]string{path("a"): boolFlag("a", "")})
	for range elsewhere {
		w.repo.push(ada, "elsewhere", nil)
	}
	w.repo.push(ada, "", map[string]string{path("b"): boolFlag("b", "")})
	var keys []string
	cursor, pages := "", 0
	for pages == 0 || cursor != "" {
		list := must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Cursor: cursor}}))
		for _, e := range list.Activity {
			if e.Key != nil {
				keys = append(keys, *e.Key)
			}
		}
		cursor = list.NextCursor
		if pages++; pages > 10 {
			t.Fatal("the feed does not end")
		}
	}
	if !slices.Equal(keys, []string{"b", "a"}) || pages != 3 {
		t.Errorf("%v on %d pages", keys, pages)
	}
}

func TestActivityOfOneItem(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("g"): boolFlag("g", ""), "schemas/s.json": "{}"})
	must[*change.PatchResult](t)(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)}))
	must[*change.PatchResult](t)(w.boss().Changes().Patch(ctx, document.Flag, "g", "default", change.ValuePatch{Enabled: ptr(true)}))
	w.repo.push(ada, "gone", map[string]string{path("f"): ""})
	of := func(kind, key string) (*feed.ActivityList, error) {
		return w.enter().Activity(ctx, feed.ActivityQuery{Type: kind, Key: key})
	}
	wantFeed(t, must[*feed.ActivityList](t)(of("feature_flag", "f")),
		`deleted feature_flag/f [] flag "f" deleted`,
		`updated feature_flag/f [default] default: enabled set to true`,
		`created feature_flag/f [] flag "f" created; [default] default: enabled set to false`)
	wantFeed(t, must[*feed.ActivityList](t)(of("schema", "s")), `created schema/s [] schema "s" created`)
	for _, test := range []struct{ kind, key, want string }{
		{"feature_flag", "", "400 BAD_REQUEST"},
		{"", "f", "400 BAD_REQUEST"},
		{"flag", "f", "400 BAD_REQUEST"},
		{"config", "f", "404 NOT_FOUND"},
		{"schema", "f", "404 NOT_FOUND"},
		{"feature_flag", "../x", "404 NOT_FOUND"},
	} {
		_, err := of(test.kind, test.key)
		if got := refusal(err); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
	for _, limit := range []int{0, 101} {
		_, err := w.enter().Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: &limit}})
		wantRefusal(t, err, "400 BAD_REQUEST")
	}
}

func TestACommitOfManyItemsIsOneEntry(t *testing.T) {
	w := newWorld(t, nil)
	files := map[string]string{"svc.json": declaration + " "}
	for i := range 20 {
		files[path(fmt.Sprint("f", i))] = boolFlag(fmt.Sprint("f", i), "")
	}
	w.repo.push(ada, "twenty", files)
	if list := must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(100)}})); len(list.Activity) != 22 {
		t.Errorf("20 items: %d entries", len(list.Activity))
	}
	for i := range 20 {
		files[path(fmt.Sprint("f", i))] = boolFlag(fmt.Sprint("f", i), `,"x":1`)
	}
	files["configs/c.json"] = configOf("c", "int", "1", "")
	w.repo.push(ada, "twenty-one", files)
	list := must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(1)}}))
	wantFeed(t, list, `updated null [] 21 items in one commit: 1 created, 20 updated`)
	if got := wire(t, list.Activity[0]); !strings.Contains(got, `"type":null,"key":null`) {
		t.Error(got)
	}
	wantFeed(t, must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{Type: "feature_flag", Key: "f3", PageQuery: feed.PageQuery{Limit: ptr(1)}})),
		`updated feature_flag/f3 [] other fields changed`)
	if h := must[*feed.History](t)(w.enter().History(ctx, document.Flag, "f3", feed.PageQuery{})); len(h.History) != 2 {
		t.Errorf("%d commits in the item's history", len(h.History))
	}
}

// What was worked out once is not read again.
func TestComparedCommitsAreRemembered(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("g"): boolFlag("g", "")})
	for range 3 {
		must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{}))
	}
	if n := w.repo.count("At"); n != 4 {
		t.Errorf("%d documents read for two entries", n)
	}
}

// Whoever amends or copies one of our commits takes its message along, not
// what it changed.
func TestMessagesOfACopiedCommitAreNotBelieved(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.repo.push(ada, "f: production: enabled set to true\n\nSvc-Principal: service_account/x", map[string]string{path("f"): boolFlag("f", `,"tags":["a"]`)})
	list := must[*feed.ActivityList](t)(w.enter().Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(1)}}))
	wantFeed(t, list, `updated feature_flag/f [] tags: added a`)
	if !list.Activity[0].IsServiceAccount {
		t.Error("the trailer says who acted")
	}
}
