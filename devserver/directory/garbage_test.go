package directory

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A flag with three targeting rules and nothing that another flag has.
const flagOfItsOwn = `{"key":"flag-%[1]d","type":"feature_flag","valueType":"string","default":{"rules":[
  {"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["plan-%[1]d","free"]}}],"value":{"type":"string","value":"by plan"}},
  {"criteria":[{"operator":"PROP_ENDS_WITH_ONE_OF","propertyName":"user.email","valueToMatch":{"type":"string_list","value":["@team%[1]d.example"]}}],"value":{"type":"string","value":"by team"}},
  {"criteria":[{"operator":"PROP_GREATER_THAN","propertyName":"user.orders","valueToMatch":{"type":"int","value":%[1]d}}],"value":{"type":"string","value":"by orders"}},
  {"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"everyone else"}}
]},"environments":[],"variants":[]}`

// How soon a large directory is served hangs on how much is made on the way, since
// that has to be collected: of a document there is its text, what is served of it,
// and little else.
func TestLoadingMakesLittleThatDoesNotStay(t *testing.T) {
	const flags, most = 500, 100
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "feature-flags"), 0o777))
	for i := range flags {
		must(t, os.WriteFile(filepath.Join(dir, "feature-flags", fmt.Sprintf("flag-%d.json", i)), fmt.Appendf(nil, flagOfItsOwn, i), 0o666))
	}
	made := testing.AllocsPerRun(2, func() {
		if _, err := Open(dir, "development", func(string) {}); err != nil {
			t.Fatal(err)
		}
	}) / flags
	t.Logf("%.0f pieces of memory for each document", made)
	if made > most {
		t.Errorf("%.0f pieces of memory are made for each document, more than %d", made, most)
	}
}
