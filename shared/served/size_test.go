package served

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/testenv"
)

// TestTheSizeOfAView is what it takes beside the texts, whatever its documents are
// rich in.
func TestTheSizeOfAView(t *testing.T) {
	testenv.Slow(t)
	const slack = 1 << 20 // and what is remembered of expressions
	list := func(n int, f func(int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = f(i)
		}
		return strings.Join(all, ",")
	}
	flag := func(i int, more string) string {
		return fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"bool",%s"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]}}`, i, more)
	}
	for name, c := range map[string]struct {
		n   int
		doc func(i int) string
	}{
		"flags": {5000, func(i int) string { return flag(i, "") }},
		"environments": {5, func(i int) string {
			return flag(i, `"environments":[`+list(5000, func(e int) string { return fmt.Sprintf(`{"id":"e%d","rules":[]}`, i*5000+e) })+`],`)
		}},
		"same environments": {4, func(i int) string {
			return flag(i, `"environments":[`+list(5000, func(e int) string { return fmt.Sprintf(`{"id":"e%d","rules":[]}`, e) })+`],`)
		}},
		"tags": {4, func(i int) string {
			return flag(i, `"tags":[`+list(5000, func(e int) string { return fmt.Sprintf(`"t%d"`, i*5000+e) })+`],`)
		}},
		"names":        {50, func(i int) string { return flag(i, `"name":"`+strings.Repeat("x", 100000)+`",`) }},
		"descriptions": {50, func(i int) string { return flag(i, `"description":"`+strings.Repeat("x", 100000)+`",`) }},
		"variants": {5, func(i int) string {
			return flag(i, `"variants":[`+list(5000, func(e int) string { return `{"value":{"type":"bool","value":true}}` })+`],`)
		}},
		"problems": {5, func(i int) string { return flag(i, `"variants":[`+list(5000, func(e int) string { return `1` })+`],`) }},
		"expressions": {20, func(i int) string {
			return flag(i, `"environments":[{"id":"production","rules":[{"value":{"type":"bool","value":true},"criteria":[`+list(2000, func(e int) string {
				return fmt.Sprintf(`{"operator":"PROP_MATCHES","propertyName":"a","valueToMatch":{"type":"string","value":"x%d"}}`, i*2000+e)
			})+`]}]}],`)
		}},
	} {
		for _, listed := range []bool{true, false} {
			s := &repository.Snapshot{}
			for i := range c.n {
				s.Files = append(s.Files, repository.File{Path: fmt.Sprintf("feature-flags/f%d.json", i), Text: []byte(c.doc(i)), Blob: fmt.Sprint(i)})
			}
			before := memory.InUse()
			v := newView(s, nil, listed)
			held := max(0, memory.InUse()-before) // what others have used may have gone meanwhile
			t.Logf("%s, listed %v: %d KB are held, %d KB are counted", name, listed, held>>10, v.bytes>>10)
			if v.bytes < held*3/4-slack || v.bytes > 6*held+slack {
				t.Errorf("%s, listed %v: %d bytes are held, and %d are counted", name, listed, held, v.bytes)
			}
			runtime.KeepAlive(v)
			runtime.KeepAlive(s)
		}
	}
}
