package evaluation

import (
	"fmt"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

func segmentDoc(key, rules string) string {
	return fmt.Sprintf(`{"key":%q,"type":"segment","valueType":"bool","default":{"rules":[%s]}}`, key, rules)
}

func member(criteria string, boolean bool) string {
	return fmt.Sprintf(`{"criteria":[%s],"value":{"type":"bool","value":%v}}`, criteria, boolean)
}

func TestSegments(t *testing.T) {
	in := criterion("IN_SEG", "", "string", `"staff"`)
	notIn := criterion("NOT_IN_SEG", "", "string", `"staff"`)
	sources := []Source{
		source(t, segmentDoc("staff",
			member(criterion("PROP_IS_ONE_OF", "user.key", "string_list", `["fired"]`), false)+","+
				member(criterion("PROP_ENDS_WITH_ONE_OF", "user.email", "string_list", `["@acme.com"]`), true))),
		source(t, segmentDoc("nested", member(in, true))),
		source(t, flag("in", serve(in, "yes"))),
		source(t, flag("out", serve(notIn, "yes"))),
		source(t, flag("nested-in", serve(criterion("IN_SEG", "", "string", `"nested"`), "yes"))),
		source(t, flag("missing-in", serve(criterion("IN_SEG", "", "string", `"nowhere"`), "yes"))),
		source(t, flag("missing-out", serve(criterion("NOT_IN_SEG", "", "string", `"nowhere"`), "yes"))),
	}
	s := compile("test", sources...)
	staff, fired, guest := `{"user":{"email":"a@acme.com"}}`, `{"user":{"key":"fired","email":"a@acme.com"}}`, `{}`
	for _, tt := range []struct{ flag, context, want string }{
		{"in", staff, "yes"}, {"in", fired, "-"}, {"in", guest, "-"},
		{"out", staff, "-"}, {"out", fired, "yes"}, {"out", guest, "yes"},
		{"nested-in", staff, "yes"}, {"nested-in", guest, "-"},
		{"missing-in", staff, "-"}, {"missing-out", staff, "yes"},
	} {
		if got := served(t, s, tt.flag, tt.context); got != tt.want {
			t.Errorf("%s over %s serves %s, want %s", tt.flag, tt.context, got, tt.want)
		}
	}
	for _, item := range s.Items {
		if item.Document.Type == document.Segment {
			t.Errorf("the segment %s is an item", item.Key)
		}
	}
}

func TestACircleOfSegmentsHasNoMembers(t *testing.T) {
	in := func(key string) string { return member(criterion("IN_SEG", "", "string", `"`+key+`"`), true) }
	s := compile("test",
		source(t, segmentDoc("a", in("b"))), source(t, segmentDoc("b", in("a"))), source(t, segmentDoc("self", in("self"))),
		source(t, flag("f", serve(criterion("IN_SEG", "", "string", `"a"`), "yes"))),
		source(t, flag("g", serve(criterion("IN_SEG", "", "string", `"self"`), "yes"))),
	)
	for _, key := range []string{"f", "g"} {
		if got := served(t, s, key, `{}`); got != "-" {
			t.Errorf("%s serves %s", key, got)
		}
	}
}

func TestThousandSegmentsReferringToEachOther(t *testing.T) {
	const n = 1000
	var refer []document.Criterion
	for i := range n {
		key := &document.Value{Type: document.StringValue, Content: jsontree.NewString(fmt.Sprintf("s%d", i))}
		refer = append(refer, document.Criterion{Operator: "IN_SEG", ValueToMatch: key})
	}
	yes := document.Value{Type: document.BoolValue, Content: jsontree.NewBool(true)}
	sources := []Source{source(t, flag("f", serve(criterion("IN_SEG", "", "string", `"s0"`), "yes")))}
	for i := range n {
		rules := []document.Rule{{Criteria: refer[i+1:], Value: yes}}
		sources = append(sources, Source{Key: fmt.Sprintf("s%d", i), Document: &document.Document{Type: document.Segment, Default: rules}})
	}
	if got := served(t, compile("test", sources...), "f", `{}`); got != "yes" {
		t.Errorf("the end of the chain has no conditions, so all are members; serves %s", got)
	}
}
