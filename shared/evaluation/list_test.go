package evaluation

import "testing"

// TestEqualListsOfCriteriaAreOne: what flags have in common is decided once, and
// each serves what is its own.
func TestEqualListsOfCriteriaAreOne(t *testing.T) {
	a, b := criterion("PROP_IS_ONE_OF", "user.p", "string_list", `["a","both"]`), criterion("PROP_IS_ONE_OF", "user.q", "string_list", `["b","both"]`)
	both := a + "," + b
	s := compile("test",
		source(t, flag("1-first", serve(a, "1a")+","+serve(b, "1b")+","+serve(always, "1c"))),
		source(t, flag("2-equal", serve(a, "2a")+","+serve(b, "2b")+","+serve(always, "2c"))),
		source(t, flag("3-one-rule", serve(both, "3ab")+","+serve(always, "3c"))),
		source(t, flag("4-turned", serve(b, "4b")+","+serve(a, "4a")+","+serve(always, "4c"))),
		source(t, flag("5-shorter", serve(a, "5a")+","+serve(b, "5b"))),
		source(t, flag("6-split", serve(a, "6a")+","+weighted("user.key", 0, 1)+","+serve(always, "6c"))),
		source(t, flag("7-equal", serve(a, "7a")+","+serve(always, "7b")+","+serve(always, "7c"))),
		source(t, flag("8-none", "")),
	)
	if got := len(s.lists) - 1; got != 6 {
		t.Errorf("%d lists", got)
	}
	for _, tt := range []struct {
		context string
		want    [8]string
	}{
		{`{"user":{"p":"a","key":"u"}}`, [8]string{"1a", "2a", "3c", "4a", "5a", "6a", "7a", "-"}},
		{`{"user":{"q":"b","key":"u"}}`, [8]string{"1b", "2b", "3c", "4b", "5b", "arm1", "7b", "-"}},
		{`{"user":{"p":"both","q":"both"}}`, [8]string{"1a", "2a", "3ab", "4b", "5a", "6a", "7a", "-"}},
		{`{"user":{"key":"u"}}`, [8]string{"1c", "2c", "3c", "4c", "-", "arm1", "7b", "-"}},
	} {
		for i, key := range s.Keys {
			if got := served(t, s, key, tt.context); got != tt.want[i] {
				t.Errorf("%s serves %q to %s, want %q", key, got, tt.context, tt.want[i])
			}
		}
	}
}
