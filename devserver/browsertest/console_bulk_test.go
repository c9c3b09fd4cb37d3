package browsertest

import (
	"strings"
	"testing"
)

// Items are picked with the keyboard, and switched as one change set; with the mouse, and
// tagged, copied and deleted.
func TestConsoleChangesSeveralItems(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/strange.json": strangeFlag}))
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags", key)
	p.tabTo(t, ".row a")
	p.chord(t, 0, " ", keySpace)
	p.says(t, ".selected", "1 flag selected")
	p.chord(t, shift, "ArrowDown", keyDown)
	p.chord(t, shift, "ArrowDown", keyDown)
	p.says(t, ".selected", "3 flags selected")
	p.tabTo(t, ".selected .actions button:first-child")
	p.press(t, "\r")
	p.says(t, "dialog .form", "1 flag of another type is left out")
	p.click(t, "dialog .segmented button:first-child")
	p.choose(t, "dialog .field select", "production")
	p.says(t, "dialog .by-item", "new-checkout")
	p.says(t, "dialog .by-item", "search.suggestions")
	p.says(t, "dialog .by-item", "No longer uses the default rules.")
	w.send(t, w.key(t, "Grace", "protected_engineer"), "PATCH", "/v1/flags/new-checkout/environments/development", `{"enabled": false}`)
	p.says(t, "dialog .box", "Someone else changed this")
	p.says(t, "dialog .box a.key", "new-checkout")
	p.click(t, "dialog .review .box button:not(.time)")
	p.says(t, "dialog .by-item", "new-checkout")
	p.gone(t, "dialog .box.warn")
	p.tabTo(t, "dialog .dialog-foot .primary:not([disabled])")
	p.press(t, "\r")
	p.gone(t, "dialog")
	p.gone(t, ".selected")
	for _, flag := range []string{"new-checkout", "search.suggestions"} {
		if got := get[struct{ History []struct{ Sha string } }](t, w.base+"/v1/flags/"+flag+"/history", key).History; len(got) < 2 {
			t.Errorf("%s: %v", flag, got)
		}
	}

	// Of a commit that is undone, what has been changed again since stays.
	history := "/v1/flags/search.suggestions/history"
	all := get[struct{ History []struct{ Sha string } }](t, w.base+history, key).History
	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/production", `{"enabled": false}`)
	p.visit(t, "#/activity?undo="+all[0].Sha)
	p.says(t, "dialog .box", "1 item cannot be undone")
	p.says(t, "dialog .box", "new-checkout Changed again since.")
	p.says(t, "dialog .dialog-foot .primary:not([disabled])", "Undo the other 1")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	if got := get[struct{ History []struct{ Sha string } }](t, w.base+history, key).History; len(got) != len(all)+1 {
		t.Errorf("the other one is not undone: %v", got)
	}
	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/production", `{"enabled": true}`)
	p.visit(t, "#/flags")
	p.wait(t, ".row")

	pick := func() {
		for _, name := range []string{"new-checkout", "strange"} {
			p.click(t, `[aria-label="Select `+name+`"]`)
		}
	}
	pick()
	p.click(t, ".selected .actions button:nth-child(5)")
	p.write(t, "dialog .field input", "launch")
	p.says(t, "dialog .by-item", "strange")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	if file := w.fileOf(t, "feature-flags/strange.json"); !strings.Contains(file, `"launch"`) || !strings.Contains(file, `"deep":[1.50,null]`) || !strings.Contains(file, `"x-operand":4.0`) {
		t.Errorf("%s", file)
	}
	pick()
	p.click(t, ".selected .actions button:nth-child(4)")
	p.choose(t, "dialog .field:nth-of-type(1) select", "development")
	p.choose(t, "dialog .field:nth-of-type(2) select", "production")
	p.says(t, "dialog .by-item", "production")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	pick()
	p.click(t, ".selected .actions button:nth-child(6)")
	p.says(t, "dialog .by-item", "deleted")
	p.click(t, "dialog .danger:not([disabled])")
	p.gone(t, "dialog")
	p.says(t, ".heading .note", "2 flags")

	// What a schema does not allow is told at the value's field.
	p.visit(t, "#/configs/home.banner?edit=default&kind=value")
	p.says(t, "dialog summary", "What the schema banner allows")
	p.write(t, jsonEditor, `{"text": 5}`)
	p.says(t, "dialog .field .problem", "/text: ")
	p.write(t, jsonEditor, `{"text": "Hello!"}`)
	p.gone(t, "dialog .field .problem")
	p.apply(t)
	p.says(t, ".scope .rules", "Hello!")
	p.visit(t, "#/configs/home.banner?schema=1")
	p.says(t, "dialog h2", "banner")
	p.write(t, jsonEditor, `{"type": "object", "required": ["nothing-has-it"]}`)
	p.says(t, "dialog .box", "nothing-has-it")
}
