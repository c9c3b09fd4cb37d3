package dynamo

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhatIsListableFitsIntoARow: DynamoDB takes items of at most 400 KB.
func TestWhatIsListableFitsIntoARow(t *testing.T) {
	var packs []string
	for n := range mostListed {
		packs = append(packs, fmt.Sprintf("%040x", n))
	}
	if err := listable(packs); err != nil {
		t.Error(err)
	}
	u := newUpdate()
	u.setPacks(packs, 1<<40)
	row := packsKey("0123456789abcdef")
	row["list"], row["n"], row["g"] = u.values[":list"], u.values[":n"], number(1<<40)
	if size := sizeOf(row); size > 400<<10 {
		t.Errorf("a row of %d packs has %d bytes", len(packs), size)
	}
	if err := listable(append(packs, "one more")); err == nil || !strings.Contains(err.Error(), "svcadmin compact") {
		t.Errorf("one more: %v", err)
	}
}
