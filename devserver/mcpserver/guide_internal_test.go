package mcpserver

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
)

// TestTheGuideNamesEveryTool, and says what it is there for.
func TestTheGuideNamesEveryTool(t *testing.T) {
	guide := guides.Read(t, "devserver/guides/assistants.md")
	there := map[bool]string{true: " yes ", false: " "}
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|([^|]*)\\|([^|]*)\\|").FindAllStringSubmatch(guide, -1) {
		named = append(named, row[1])
		at := slices.IndexFunc(tools, func(t tool) bool { return t.name == row[1] })
		if at < 0 || row[2] != there[tools[at].workspace] || row[3] != there[tools[at].directory] {
			t.Errorf("the guide's row %q", row[0])
		}
	}
	if len(named) != len(tools) {
		t.Errorf("the guide names %d tools of %d: %s", len(named), len(tools), named)
	}
	if !strings.Contains(guide, fmt.Sprintf("the last\n  %d)", maxProposals)) || !strings.Contains(guide, fmt.Sprintf("%d KB", maxResult>>10)) {
		t.Error("the guide's bounds are not these")
	}
}
