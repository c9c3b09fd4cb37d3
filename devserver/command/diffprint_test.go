package command

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
)

// TestNobodyCrowdsAChangeOutOfAComment: one that is too long would not be posted, or not read.
func TestNobodyCrowdsAChangeOutOfAComment(t *testing.T) {
	d := &difference{From: "0123456789abcdef"}
	for i := range 4000 {
		d.Changes = append(d.Changes, fileChange{Path: fmt.Sprintf("feature-flags/a%d.json", i), Messages: []activity.Message{{Message: strings.Repeat("noise ", 20)}}, added: true})
	}
	for i := range 1000 {
		d.Changes = append(d.Changes, fileChange{Path: fmt.Sprintf("feature-flags/b%d.json", i), Type: document.Flag, Messages: []activity.Message{{Message: "description changed"}}})
	}
	d.Changes = append(d.Changes, fileChange{Path: "feature-flags/new-checkout.json", Type: document.Flag, Key: "new-checkout", Messages: []activity.Message{{Scope: "production", Message: "production: enabled set to true"}}})
	text := d.as(markdown)
	if len(text) > 65_536 {
		t.Errorf("%d bytes", len(text))
	}
	begin := text[:400]
	for _, want := range []string{"Not all of it is shown here", "1 change in what they serve or are deleted, 1000 otherwise, 4000 are added", "svc diff 0123456789", "new-checkout"} {
		if !strings.Contains(begin, want) {
			t.Errorf("it does not begin with %q:\n%s", want, begin)
		}
	}
	if all := d.as(inText); !strings.Contains(all, "a3999") {
		t.Error("the text is shortened too")
	}
}
