package delivery

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
)

// many joins n texts by commas.
func many(n int, text func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return strings.Join(all, ",")
}

// always is the same text each time.
func always(text string) func(int) string { return func(int) string { return text } }

// rule serves 1 where a criterion holds.
func criterion(operator, property, kind, operand string) string {
	return fmt.Sprintf(`{"operator":%q,"propertyName":%q,"valueToMatch":{"type":%q,"value":%s}}`, operator, property, kind, operand)
}

func ruleOf(criteria string) string {
	return `{"criteria":[` + criteria + `],"value":{"type":"int","value":1}}`
}

func splitOf(kind string, arms int, value string) string {
	return `{"criteria":[],"value":{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[` +
		many(arms, always(`{"value":{"type":"`+kind+`","value":`+value+`},"weight":1}`)) + `]}}}`
}

// TestTheSizeOfATable is what it takes in memory, whatever its documents are rich
// in: an instance decides by it what it can hold.
func TestTheSizeOfATable(t *testing.T) {
	flag := func(rules string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf(`{"key":"f%03d","type":"feature_flag","valueType":"int","default":{"rules":[%s]}}`, i, rules)
		}
	}
	each := func(rules func(doc int) string) func(int) string {
		return func(i int) string { return flag(rules(i))(i) }
	}
	// criteria are rules of n criteria whose operands differ.
	criteria := func(n int, operator, property, kind, operand string) func(int) string {
		return each(func(d int) string {
			return ruleOf(many(n, func(i int) string { return criterion(operator, property, kind, fmt.Sprintf(operand, d*n+i)) }))
		})
	}
	segment := func(rules string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf(`{"key":"s%03d","type":"segment","valueType":"bool","default":{"rules":[%s]}}`, i, rules)
		}
	}
	compile(t, "%x", 10_000) // the table that remembers is as large as it gets; it never shrinks
	for name, c := range map[string]struct {
		n   int
		doc func(i int) string
	}{
		"flags":                {8000, flag(ruleOf(""))},
		"arms":                 {1, flag(many(20, always(splitOf("int", 1000, "1"))))},
		"arms of one rule":     {1, flag(splitOf("int", 20_000, "1"))},
		"arms of segments":     {4, segment(many(20, always(splitOf("bool", 1000, "true"))))},
		"small splits":         {2, flag(many(2000, always(splitOf("int", 1, "1"))))},
		"withheld arms":        {1, flag(many(20, always(splitOf("int", 1000, `1,"confidential":true`))))},
		"long values":          {10, flag(many(10, always(splitOf("string", 3, `"`+strings.Repeat("x", 33<<10)+`"`))))},
		"rules":                {2, flag(many(10_000, always(ruleOf(""))))},
		"rules of segments":    {2, segment(many(10_000, always(`{"criteria":[],"value":{"type":"bool","value":true}}`)))},
		"criteria":             {4, flag(ruleOf(many(20_000, always(criterion("IS_PRESENT", "user.key", "string", `""`)))))},
		"criteria of segments": {2, segment(many(5000, always(`{"criteria":[`+criterion("IS_PRESENT", "user.key", "string", `""`)+`],"value":{"type":"bool","value":true}}`)))},
		"numbers":              {2, criteria(5000, "PROP_GREATER_THAN", "user.age", "int", `%d`)},
		"ranges":               {2, criteria(5000, "IN_INT_RANGE", "user.age", "json", `{"start":%d}`)},
		"times":                {2, criteria(5000, "PROP_BEFORE", "svc.current-time", "int", `%d`)},
		"versions":             {2, criteria(5000, "PROP_SEMVER_EQUAL", "user.app", "string", `"1.1.%d"`)},
		"prefixes":             {2, criteria(5000, "HIERARCHICAL_MATCH", "user.app", "string", `"a.1.%d"`)},
		"unknown operators":    {2, criteria(5000, "SOME_DAY", "user.app", "string", `"a.1.%d"`)},
		"memberships":          {2, criteria(5000, "IN_SEG", "", "string", `"a.1.%d"`)},
		"one word each":        {2, criteria(5000, "PROP_IS_ONE_OF", "user.key", "string_list", `["%d"]`)},
		"small expressions":    {30, criteria(300, "PROP_MATCHES", "user.key", "string", `"%x"`)},
		"anchored expressions": {30, criteria(150, "PROP_MATCHES", "user.key", "string", `"^(%x|y)$"`)},
		"large expressions":    {5, criteria(40, "PROP_MATCHES", "user.key", "string", `"a%dx{1000}"`)},
		"classes":              {20, criteria(20, "PROP_MATCHES", "user.key", "string", `"a%d\\pL\\pN"`)},
		"words": {2, each(func(d int) string {
			return ruleOf(criterion("PROP_IS_ONE_OF", "user.key", "string_list", `[`+many(50_000, func(i int) string { return fmt.Sprintf(`"%x"`, d*50_000+i) })+`]`))
		})},
		"the same words": {1, each(func(d int) string {
			return ruleOf(criterion("PROP_IS_ONE_OF", "user.key", "string_list", `[`+many(100_000, func(i int) string { return fmt.Sprintf(`"%x"`, (i+d)%100) })+`]`))
		})},
		"parts": {2, each(func(d int) string {
			return ruleOf(criterion("PROP_CONTAINS_ONE_OF", "user.key", "string_list", `[`+many(100_000, func(i int) string { return fmt.Sprintf(`"%x"`, (i+d)%100) })+`]`))
		})},
		"long parts": {2, each(func(d int) string {
			return ruleOf(criterion("PROP_STARTS_WITH_ONE_OF", "user.key", "string_list", `[`+many(1000, func(i int) string { return fmt.Sprintf(`"%0900d"`, d*1000+i) })+`]`))
		})},
		"properties": {2, each(func(d int) string {
			return ruleOf(many(5000, func(i int) string { return criterion("IS_PRESENT", fmt.Sprintf("user.p%d", d*5000+i), "string", `""`) }))
		})},
		"properties with a word": {2, each(func(d int) string {
			return ruleOf(many(5000, func(i int) string {
				return criterion("PROP_IS_ONE_OF", fmt.Sprintf("user.p%d", d*5000+i), "string_list", `["a"]`)
			}))
		})},
		"names of variants": {2, func(i int) string {
			return fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"int","variants":[%s],"default":{"rules":[%s]}}`, i,
				many(2000, func(v int) string {
					return fmt.Sprintf(`{"name":"%0200d","value":{"type":"int","value":%d}}`, 10_000*i+v, v)
				}),
				many(2000, func(v int) string { return fmt.Sprintf(`{"criteria":[],"value":{"type":"int","value":%d}}`, v) }))
		}},
		"other environments": {2, func(i int) string {
			return fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"int","default":{"rules":[]},"environments":[%s]}`, i,
				many(10_000, func(e int) string { return fmt.Sprintf(`{"id":"e%d","rules":[]}`, e) }))
		}},
		"long keys": {5000, func(i int) string {
			return fmt.Sprintf(`{"key":"%0200d","type":"feature_flag","valueType":"int","default":{"rules":[]}}`, i)
		}},
		"configs that are not served": {1000, func(i int) string {
			return fmt.Sprintf(`{"key":"c%d","type":"config","valueType":"int","default":{"rules":[%s]}}`, i, ruleOf(""))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			forgetExpressions(t)
			before := memory.InUse()
			b := NewBuilder("production")
			for i := range c.n {
				tree := must.Get(jsontree.Parse([]byte(c.doc(i))))(t)
				doc := document.View(tree)
				b.Add(evaluation.Source{Key: doc.Key, Document: doc})
			}
			table := b.Table(func(int64) string { return "0123456789" }, b.compiler.Snapshot().Turns())
			b = nil
			frame := table.snapshot.NewFrame(0, nil)
			forgetExpressions(t)
			held, size := memory.InUse()-before, table.Size()
			t.Logf("%s: %.1f MB are held, the size is %.1f MB", name, mb(held), mb(size))
			if size < held*9/10-slack || size > 2*held+slack {
				t.Errorf("%d bytes are held, and the size is %d", held, size)
			}
			runtime.KeepAlive(table)
			runtime.KeepAlive(frame)
		})
	}
}

// compile has the expressions remembered, and what else was to be forgotten.
func compile(t *testing.T, pattern string, n int) {
	for i := range n {
		must.Get(expression.Compile(fmt.Sprintf(pattern, i)))(t)
	}
}

// forgetExpressions has those that are remembered make way for always the same.
func forgetExpressions(t *testing.T) { compile(t, "forget%dx{1000}", 180) }

// slack is for what is there once, and what the runtime holds for itself.
const slack = 256 << 10

func mb(n int64) float64 { return float64(n) / (1 << 20) }
