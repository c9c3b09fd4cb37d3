package dynamo

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/testing/must"
)

// ListAtMost lets rows list fewer packs while a test runs.
func ListAtMost(t *testing.T, most int) {
	before := maxListed
	t.Cleanup(func() { maxListed = before })
	maxListed = most
}

// TestWhatIsListableFitsIntoARow: DynamoDB takes items of at most 400 KB.
func TestWhatIsListableFitsIntoARow(t *testing.T) {
	var packs []string
	for n := range maxListed {
		packs = append(packs, fmt.Sprintf("%040x", n))
	}
	must.Report(t, listable(packs))
	row := packsKey("0123456789abcdef")
	maps.Copy(row, listing(packs, 1<<40))
	row["g"] = dynamo.Number(1 << 40)
	if size := sizeOf(row); size > 400<<10 {
		t.Errorf("a row of %d packs has %d bytes", len(packs), size)
	}
	if err := listable(append(packs, "one more")); err == nil || !strings.Contains(err.Error(), "svcadmin compact") {
		t.Errorf("one more: %v", err)
	}
}
