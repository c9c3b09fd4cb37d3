package delivery

import (
	"fmt"
	"strings"
	"testing"
)

// TestATableTakesAsMuchAsItsDocuments, about: what a document says once is not
// repeated with each of its answers, however long it is.
func TestATableTakesAsMuchAsItsDocuments(t *testing.T) {
	const long, arms = 400_000, 1500
	text := strings.Repeat("x", long)
	var split []string
	for i := range arms {
		split = append(split, fmt.Sprintf(`{"value":{"type":"string","value":"%d"},"weight":1}`, i))
	}
	flag := `[{"key":"f","type":"feature_flag","valueType":"string","name":%[1]q,"description":%[1]q,"tags":[%[1]q],"id":%[2]q,
		"variants":[{"name":%[3]q,"description":%[1]q,"value":{"type":"string","value":"7"}}],
		"default":{"rules":[{"criteria":[],"value":{"type":"weighted_values","value":{"hashByPropertyName":%[4]q,"weightedValues":[` + strings.Join(split, ",") + `]}}},
		{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":%[5]q,"valueToMatch":{"type":"string_list","value":["a"]}}],"value":{"type":"string","value":"7"}}]}}]`
	for name, at := range map[string]int{"description": 0, "id": 1, "variant": 2, "hashByPropertyName": 3, "propertyName": 4} {
		parts := []any{"d", "id", "v", "user.key", "user.plan"}
		parts[at] = text
		table := newTable(sources(t, fmt.Sprintf(flag, parts...)), "production", "0123456789")
		if size := table.Size(); size < arms*300 || size > arms*500+3*long {
			t.Errorf("a long %s: a document of %d bytes makes a table of %d", name, long+arms*50, size)
		}
	}
}
