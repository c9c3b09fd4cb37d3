package gitremote

import (
	"fmt"
	"strings"
	"testing"
)

func TestDocumentsAreMergedByEnvironment(t *testing.T) {
	document := func(description, def string, environments ...string) string {
		return fmt.Sprintf(`{"key":"a","type":"feature_flag",%s"default":%s,"environments":[%s]}`, description, def, strings.Join(environments, ","))
	}
	staging := func(n int) string { return fmt.Sprintf(`{"id":"staging","rules":[%d]}`, n) }
	production := func(n int) string { return fmt.Sprintf(`{"id":"production","rules":[%d]}`, n) }
	base := document("", "1", staging(1), production(1))
	for name, test := range map[string]struct{ ours, theirs, want string }{
		"two environments":        {document("", "1", staging(2), production(1)), document("", "1", staging(1), production(2)), document("", "1", staging(2), production(2))},
		"a field and another":     {document(`"owner":"b",`, "1", staging(1), production(1)), document("", "2", staging(1), production(1)), document(`"owner":"b",`, "2", staging(1), production(1))},
		"the same":                {document("", "2", staging(2)), document("", "2", staging(2)), document("", "2", staging(2))},
		"new ones and gone ones":  {document("", "1", production(1), `{"id":"x"}`), document("", "1", staging(1), `{"id":"y"}`), document("", "1", `{"id":"x"}`, `{"id":"y"}`)},
		"one environment":         {document("", "1", staging(2), production(1)), document("", "1", staging(3), production(1)), ""},
		"one field":               {document(`"owner":"b",`, "1"), document(`"owner":"c",`, "1"), ""},
		"gone and changed":        {document("", "1", production(1)), document("", "1", staging(2), production(1)), ""},
		"no document":             {`{`, document("", "1"), ""},
		"an environment twice":    {document("", "1", staging(2), staging(3)), document("", "1", staging(1), production(3)), ""},
		"an environment no one":   {document("", "1", `{}`), document("", "1", staging(1), production(3)), ""},
		"environments in no list": {strings.Replace(document("", "1"), "[]", "{}", 1), document("", "1", staging(1), production(3)), ""},
	} {
		got, ok := mergeDocuments([]byte(base), []byte(test.ours), []byte(test.theirs))
		if ok != (test.want != "") || ok && string(got) != test.want {
			t.Errorf("%s: %s, %t; want %s", name, got, ok, test.want)
		}
	}
}
