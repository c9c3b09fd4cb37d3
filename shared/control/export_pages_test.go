package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/testing/must"
)

// TestExport: every document is on one page, in the order of their paths, as the
// single read has it; pages are full and no more than that.
func TestExport(t *testing.T) {
	files := map[string]string{
		"schemas/s.json":      `{"type":"object"}`,
		"schemas/broken.json": `[`,
		path("broken"):        `{"key":`,
		path("list"):          `[]`,
		"configs/c.json":      configOf("c", "double", "1.0", ""),
		path("c"):             boolFlag("c", ""), // the key of another
	}
	const large = 5
	for i := range large { // two and a half to a page
		files[path(fmt.Sprint("large-", i))] = boolFlag(fmt.Sprint("large-", i), `,"description":"`+strings.Repeat("x", control.ExportPage*2/5)+`"`)
	}
	w := newWorld(t, files)
	s := w.enter()
	var seen, omitted []string
	var sizes []int
	for cursor := ""; ; {
		e := must.Get(s.Export(ctx, cursor))(t)
		if e.CommitSHA != w.last().SHA || e.Total != large+3 {
			t.Fatalf("a page of %s with %d", e.CommitSHA, e.Total)
		}
		size := 0
		for _, d := range e.Omitted {
			omitted = append(omitted, fmt.Sprint(string(d.Type), " ", d.Key, " ", d.CommitSHA == w.last().SHA))
		}
		for _, d := range e.Documents {
			stored := must.Get(s.Document(ctx, d.Type, d.Key, nil))(t)
			if stored.CommitSHA != d.CommitSHA || string(stored.Document.Compact()) != string(node(t, string(d.Document)).Compact()) {
				t.Errorf("the %s %s of %s is %.60s", d.Type, d.Key, d.CommitSHA, d.Document)
			}
			seen = append(seen, string(d.Type)+" "+d.Key)
			size += len(d.Document)
		}
		if sizes = append(sizes, len(e.Documents)); size > control.ExportPage {
			t.Errorf("a page of %d bytes", size)
		}
		if cursor = e.NextCursor; cursor == "" {
			break
		}
	}
	want := "config c, feature_flag c, feature_flag large-0, feature_flag large-1, feature_flag large-2, feature_flag large-3, feature_flag large-4, schema s"
	if got := strings.Join(seen, ", "); got != want || fmt.Sprint(sizes) != "[4 2 2]" {
		t.Errorf("pages of %v: %s", sizes, got)
	}
	if got := strings.Join(omitted, ", "); got != "feature_flag broken true, feature_flag list true, schema broken true" {
		t.Errorf("omitted are %s", got)
	}
	for _, cursor := range []string{"x", s.Cursor("flags", "c"), s.Cursor("export", "c")[1:]} {
		_, err := s.Export(ctx, cursor)
		wantRefusal(t, err, "400 BAD_REQUEST")
	}
	small := map[string]string{}
	for i := range 30_000 {
		small[fmt.Sprintf("schemas/%d.json", i)] = "{}"
	}
	if text := wire(t, must.Get(newWorld(t, small).enter().Export(ctx, ""))(t)); len(text) > control.ExportPage {
		t.Errorf("a page of small documents has %d bytes", len(text))
	}
	empty := must.Get(newWorld(t, nil).enter().Export(ctx, ""))(t)
	if empty.Documents == nil || empty.Total != 0 {
		t.Errorf("nothing is %+v", empty)
	}
}
