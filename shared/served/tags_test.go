package served

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
)

// TestTagsThatNobodyElseHas cost little more than other values: a workspace of them
// took ten times as long to load.
func TestTagsThatNobodyElseHas(t *testing.T) {
	const n = 20_000
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprintf(`"t%d"`, i)
	}
	text := fmt.Sprintf(`{"key":"f","type":"feature_flag","valueType":"bool","tags":[%s],"default":{"rules":[]}}`, strings.Join(tags, ","))
	s := &repository.Snapshot{Files: []repository.File{{Path: "feature-flags/f.json", Text: []byte(text), Blob: "b"}}}
	made := testing.AllocsPerRun(3, func() { newView(s, nil, true) }) - testing.AllocsPerRun(3, func() { newView(s, nil, false) })
	if each := made / n; each > 1.5 {
		t.Errorf("%.1f allocations for each", each)
	}
}
