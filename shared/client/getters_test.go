package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/testing/must"
)

type props = map[string]any

// everyType is an item of each type, under the type's name.
func everyType() []string {
	return []string{
		documentOf("feature_flag", "bool", "bool", always(plainValue("bool", "true"))),
		documentOf("feature_flag", "string", "string", always(plainValue("string", `"hi"`))),
		documentOf("feature_flag", "int", "int", always(plainValue("int", `"9007199254740993"`))),
		documentOf("config", "double", "double", always(plainValue("double", "1.5"))),
		documentOf("config", "string_list", "string_list", always(plainValue("string_list", `["a","b"]`))),
		documentOf("config", "duration", "duration", always(plainValue("duration", `"PT1M30S"`))),
		documentOf("config", "json", "json", always(plainValue("json", `{"a":[1,2.0]}`))),
		documentOf("config", "nothing", "string", when("user.key", "nobody", plainValue("string", `"x"`))),
	}
}

// ask asks for a key by every getter, as type to value; a default is left out.
func ask(c *Client, key string) map[string]any {
	ctx, out := context.Background(), map[string]any{}
	note := func(kind string, v, or any) {
		if !reflect.DeepEqual(v, or) {
			out[kind] = v
		}
	}
	note("bool", c.Bool(ctx, key, false), false)
	note("string", c.String(ctx, key, "or"), "or")
	note("int", c.Int(ctx, key, -1), int64(-1))
	note("double", c.Float(ctx, key, -1), -1.0)
	note("string_list", c.StringList(ctx, key, nil), []string(nil))
	note("duration", c.Duration(ctx, key, -1), time.Duration(-1))
	note("json", string(c.JSON(ctx, key, nil)), "")
	return out
}

func TestGetters(t *testing.T) {
	c := serving(t, everyType()...)
	for key, want := range map[string]map[string]any{
		"bool":        {"bool": true},
		"string":      {"string": "hi"},
		"int":         {"int": int64(9007199254740993), "double": 9007199254740992.0},
		"double":      {"double": 1.5},
		"string_list": {"string_list": []string{"a", "b"}},
		"duration":    {"duration": 90 * time.Second},
		"json":        {"json": `{"a":[1,2.0]}`},
		"nothing":     {},
		"not there":   {},
	} {
		if got := ask(c, key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

func TestWhatAGetterReturnsIsTheCallersOwn(t *testing.T) {
	c := serving(t, everyType()...)
	c.StringList(t.Context(), "string_list", nil)[0] = "changed"
	c.JSON(t.Context(), "json", nil)[0] = 'X'
	if got := c.StringList(t.Context(), "string_list", nil); got[0] != "a" {
		t.Error("a list is aliased")
	}
	if got := c.JSON(t.Context(), "json", nil); got[0] != '{' {
		t.Error("a JSON text is aliased")
	}
}

func TestDetails(t *testing.T) {
	named := `{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[` +
		when("user.plan", "pro", plainValue("string", `"blue"`)) + "," +
		when("user.plan", "team", `{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[{"value":{"type":"string","value":"x"},"weight":0},{"value":{"type":"string","value":"y"},"weight":100000}]}}`) + "," +
		when("user.plan", "free", plainValue("string", `"grey"`)) +
		`]},"variants":[{"name":"the blue one","value":{"type":"string","value":"blue"}}]}`
	c := serving(t, append(everyType(), named)...)
	user := func(plan string) *contexts.Set { return contexts.Named("user", props{"key": "u", "plan": plan}) }
	for _, tt := range []struct {
		key       string
		jit       *contexts.Set
		value     string
		reason    Reason
		rule, arm int
		variant   string
		code      Code
	}{
		{"f", user("pro"), "blue", TargetingMatch, 0, -1, "the blue one", ""},
		{"f", user("team"), "y", Split, 1, 1, "split:1", ""},
		{"f", user("free"), "grey", TargetingMatch, 2, -1, "targeting:2", ""},
		{"f", user("none"), "or", Default, -1, -1, "", ""},
		{"f", nil, "or", Default, -1, -1, "", ""},
		{"string", nil, "hi", Static, 0, -1, "static", ""},
		{"nowhere", nil, "or", Failed, -1, -1, "", NotFound},
		{"int", nil, "or", Failed, -1, -1, "", TypeMismatch},
	} {
		d := c.StringDetails(t.Context(), tt.key, "or", tt.jit)
		var e *Error
		errors.As(d.Err, &e)
		code := Code("")
		if e != nil {
			code = e.Code
		}
		if code == TypeMismatch && e.Message != "the value is of type int" {
			t.Errorf("%s: %v", tt.key, e)
		}
		if d.Value != tt.value || d.Reason != tt.reason || d.RuleIndex != tt.rule || d.ArmIndex != tt.arm || d.Variant != tt.variant || code != tt.code {
			t.Errorf("%s: %+v, rule %d, arm %d, variant %q, code %q", tt.key, d, d.RuleIndex, d.ArmIndex, d.Variant, code)
		}
		if list := map[bool]string{true: "default"}[tt.rule >= 0]; d.RuleSource != list {
			t.Errorf("%s: the rule stands in the list %q, want %q", tt.key, d.RuleSource, list)
		}
		if d.Key != tt.key || d.Version == "" {
			t.Errorf("%s: key %q, version %q", tt.key, d.Key, d.Version)
		}
	}
}

func planFlag() string {
	return documentOf("feature_flag", "plan", "string", when("user.plan", "pro", plainValue("string", `"pro"`)),
		when("user.plan", "team", plainValue("string", `"team"`)),
		`{"criteria":[{"operator":"IS_PRESENT","propertyName":"user.key"}],"value":{"type":"string","value":"a key"}}`,
		`{"criteria":[{"operator":"IS_PRESENT","propertyName":"device.os"}],"value":{"type":"string","value":"a device"}}`,
		always(plainValue("string", `"nobody"`)))
}

func TestBadContextsAreEvaluated(t *testing.T) {
	c := serving(t, planFlag())
	huge := props{"plan": "pro"}
	for i := range 20_000 {
		huge[fmt.Sprint("p", i)] = strings.Repeat("x", 100)
	}
	nested := map[string]any{"deep": map[string]any{"deeper": []any{1, map[string]any{}}}}
	for what, tt := range map[string]struct {
		set  *contexts.Set
		want string
	}{
		"huge":                   {contexts.Named("user", huge), "pro"},
		"nested is not equal":    {contexts.Named("user", props{"plan": nested, "key": nested}), "a key"},
		"a list matches":         {contexts.Named("user", props{"plan": []any{"x", nested, "team"}}), "team"},
		"null is absent":         {contexts.Named("user", props{"plan": nil, "key": nil}), "nobody"},
		"no key":                 {contexts.Named("user", props{"name": "Ada"}), "nobody"},
		"broken text":            {contexts.Named("user", props{"plan": "\xff\xfe", "key": "\xff"}), "a key"},
		"a dot in the name":      {contexts.Named("user.plan", props{"": "pro"}), "nobody"},
		"the time cannot be set": {contexts.Named("svc", props{"current-time": "never"}), "nobody"},
	} {
		if got := c.String(t.Context(), "plan", "or", tt.set); got != tt.want {
			t.Errorf("%s: %q, want %q", what, got, tt.want)
		}
		if got := c.String(contexts.With(t.Context(), tt.set), "plan", "or"); got != tt.want {
			t.Errorf("%s in a scope: %q, want %q", what, got, tt.want)
		}
	}
}

func TestEachEvaluationDrawsAgain(t *testing.T) {
	half := `{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"bool","value":true},"weight":1},{"value":{"type":"bool","value":false},"weight":1}]}}`
	c := serving(t, documentOf("feature_flag", "coin", "bool", always(half)),
		documentOf("segment", "lucky", "bool", always(half)),
		documentOf("feature_flag", "member", "bool", `{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"lucky"}}],"value":{"type":"bool","value":true}}`, always(plainValue("bool", "false"))))
	ctx := contexts.With(t.Context(), somebody)
	for _, key := range []string{"coin", "member"} {
		heads := 0
		for range 400 {
			if c.Bool(ctx, key, false) {
				heads++
			}
		}
		if heads < 100 || heads > 300 {
			t.Errorf("%s: %d of 400 heads", key, heads)
		}
	}
}

func TestTimeGoesOnInAScope(t *testing.T) {
	var now int64 = 4000
	c := open(t, Options{now: func() int64 { return now }, Datadir: datadirOf(t, documentOf("feature_flag", "f", "bool",
		`{"criteria":[{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":5000}}],"value":{"type":"bool","value":true}}`, always(plainValue("bool", "false"))))})
	ctx := contexts.With(t.Context(), somebody)
	for _, at := range []struct {
		now  int64
		want bool
	}{{4000, false}, {5000, false}, {5001, true}, {4000, false}, {9000, true}} {
		now = at.now
		if got := c.Bool(ctx, "f", !at.want); got != at.want {
			t.Errorf("at %d: %v", now, got)
		}
		if got := c.Bool(ctx, "f", !at.want, contexts.Named("x", nil)); got != at.want {
			t.Errorf("just in time at %d: %v", now, got)
		}
	}
}

func TestDetailsNeverShowASecret(t *testing.T) {
	const secret = "s3cr3t"
	c := serving(t, documentOf("config", "password", "string", always(`{"type":"string","value":"`+secret+`","confidential":true}`)))
	d := c.StringDetails(t.Context(), "password", "")
	if d.Value != secret || !d.Secret || c.String(t.Context(), "password", "") != secret {
		t.Fatalf("a secret key's holder does not get the value: %v", d)
	}
	text := must.Get(json.Marshal(d))(t)
	var j journal
	j.log().Info("x", "details", d, "pointer", &d)
	for what, shown := range map[string]string{
		"%v": fmt.Sprintf("%v", d), "%+v": fmt.Sprintf("%+v", d), "%#v": fmt.Sprintf("%#v", d), "%s": fmt.Sprintf("%s", d),
		"pointer": fmt.Sprintf("%+v", &d), "json": string(text), "log": j.String(),
	} {
		if strings.Contains(shown, secret) || !strings.Contains(shown, redacted) {
			t.Errorf("%s: %s", what, shown)
		}
	}
}

func TestOneScopeIsSharedByManyGoroutines(t *testing.T) {
	split := `{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[{"value":{"type":"string","value":"a"},"weight":1},{"value":{"type":"string","value":"b"},"weight":1}]}}`
	c := serving(t, planFlag(), documentOf("feature_flag", "split", "string", always(split)))
	for i := range 50 {
		user := contexts.Named("user", props{"key": fmt.Sprint("u-", i), "plan": []string{"pro", "team"}[i%2]})
		want := c.String(t.Context(), "split", "", user)
		ctx := contexts.With(t.Context(), user)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 20 {
					if plan, arm := c.String(ctx, "plan", ""), c.String(ctx, "split", ""); plan != []string{"pro", "team"}[i%2] || arm != want {
						t.Errorf("%s, %s", plan, arm)
					}
				}
			})
		}
		all.Wait()
	}
}

func TestASetOutlivesItsScope(t *testing.T) {
	c := serving(t, planFlag())
	shared := contexts.Named("user", props{"plan": "pro"})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				ctx, scope := contexts.Begin(t.Context(), shared)
				if got := c.String(ctx, "plan", ""); got != "pro" {
					t.Errorf("in the scope: %s", got)
				}
				scope.End()
				if got := c.String(ctx, "plan", ""); got != "nobody" {
					t.Errorf("after it: %s", got)
				}
			}
		})
	}
	all.Wait()
}

func loggerRule(prefix, level string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"PROP_STARTS_WITH_ONE_OF","propertyName":"svc-sdk-logging.key","valueToMatch":{"type":"string_list","value":[%q]}}],"value":{"type":"log_level","value":%q}}`, prefix, level)
}

func shopLevels(service, fallback string) string {
	return documentOf("log_level", "log-level."+service, "log_level",
		loggerRule("com.acme.cart", "TRACE"), when("user.key", "watched", plainValue("log_level", `"DEBUG"`)),
		loggerRule("com.acme", "ERROR"), always(plainValue("log_level", `"`+fallback+`"`)))
}

func TestLogLevels(t *testing.T) {
	c := serving(t, shopLevels("shop", "FATAL"))
	watched := contexts.With(t.Context(), contexts.Named("user", props{"key": "watched"}))
	for _, tt := range []struct {
		ctx    context.Context
		logger string
		want   slog.Level
	}{
		{t.Context(), "com.acme.cart", LevelTrace}, {t.Context(), "com.acme.cartoon", LevelTrace}, {t.Context(), "com.acme.pay", slog.LevelError},
		{t.Context(), "org", LevelFatal}, {t.Context(), "", LevelFatal}, {watched, "com.acme.pay", slog.LevelDebug}, {watched, "com.acme.cart.x", LevelTrace},
		{contexts.With(t.Context(), contexts.Named("svc-sdk-logging", props{"key": "com.acme.cart"})), "org", LevelFatal},
	} {
		if got := c.LogLevel(tt.ctx, tt.logger, 99); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.logger, got, tt.want)
		}
	}
}

func TestWhichLogLevelDocument(t *testing.T) {
	dir := datadirOf(t, shopLevels("shop", "WARN"), shopLevels("desk", "INFO"))
	for service, want := range map[string]slog.Level{"shop": slog.LevelWarn, "desk": slog.LevelInfo, "log-level.desk": slog.LevelInfo, "": 99, "nowhere": 99} {
		if got := open(t, Options{Datadir: dir, Service: service}).LogLevel(t.Context(), "org", 99); got != want {
			t.Errorf("service %q: %v, want %v", service, got, want)
		}
	}
	odd := documentOf("log_level", "log-level.odd", "log_level", always(plainValue("log_level", `"LOUD"`)))
	if got := serving(t, odd).LogLevel(t.Context(), "x", 99); got != 99 {
		t.Errorf("an unknown level: %v", got)
	}
}

func TestWithoutAnApplicableLogLevelDocumentThereIsOneWarning(t *testing.T) {
	ask := func(c *Client) {
		for range 3 {
			c.LogLevel(t.Context(), "org", 99)
			c.Handler(slog.DiscardHandler, "org").Enabled(t.Context(), slog.LevelInfo)
		}
	}
	both := []string{shopLevels("shop", "WARN"), shopLevels("desk", "INFO")}
	for _, tt := range []struct {
		service string
		docs    []string
		want    string // "" for silence
	}{
		{"", both, "there are: log-level.desk, log-level.shop"},
		{"nowhere", both, "there are: log-level.desk, log-level.shop"},
		{"nowhere", both[:1], `Options.Service \"nowhere\" names no log-level document; there are: log-level.shop`},
		{"nowhere", []string{switched("true")}, "there are: none"},
		{"shop", both, ""}, {"log-level.desk", both, ""}, {"", both[:1], ""}, {"", []string{switched("true")}, ""},
	} {
		var j journal
		c := open(t, Options{Datadir: datadirOf(t, tt.docs...), Service: tt.service, Log: j.log()})
		c.Bool(t.Context(), "f", false)
		ask(c)
		want := 0
		if tt.want != "" {
			want = 1
			eventually(t, "a warning", func() bool { return j.count("no log level applies") > 0 })
		}
		if j.count("no log level applies") != want || !strings.Contains(j.String(), tt.want) {
			t.Errorf("service %q, %d documents:\n%s", tt.service, len(tt.docs), j.String())
		}
	}
}

func TestHandler(t *testing.T) {
	dir := datadirOf(t, shopLevels("shop", "WARN"))
	c := open(t, Options{Datadir: dir})
	var j journal
	wide := slog.NewTextHandler(&j, &slog.HandlerOptions{Level: LevelTrace})
	log := slog.New(c.Handler(wide, "com.acme.pay")).With("a", 1).WithGroup("g")
	watched := contexts.With(t.Context(), contexts.Named("user", props{"key": "watched"}))
	log.Warn("hidden 1")
	log.Error("shown 1", "b", 2)
	log.DebugContext(watched, "shown 2")
	log.DebugContext(t.Context(), "hidden 2")
	slog.New(c.Handler(wide, "com.acme.cart")).Log(t.Context(), LevelTrace, "shown 3")
	slog.New(c.Handler(slog.NewTextHandler(&j, nil), "com.acme.cart")).Debug("hidden by the next handler")
	withoutALevel := slog.New(serving(t, switched("true")).Handler(slog.NewTextHandler(&j, nil), "x"))
	withoutALevel.Debug("hidden by the next handler")
	withoutALevel.Info("shown by the next handler")

	write(t, dir, strings.ReplaceAll(shopLevels("shop", "WARN"), "ERROR", "DEBUG"))
	eventually(t, "the level changes", func() bool { return log.Enabled(t.Context(), slog.LevelDebug) })
	log.Debug("shown 4")
	if j.count("shown") != 5 || j.count("hidden") != 0 || !strings.Contains(j.String(), "a=1 g.b=2") {
		t.Errorf("logged:\n%s", j.String())
	}
}

func TestAHandlerDoesNotEvaluateAgainWhileNothingChanges(t *testing.T) {
	c := serving(t, shopLevels("shop", "WARN"))
	h := c.Handler(slog.DiscardHandler, "org")
	ctx := contexts.With(t.Context(), somebody)
	if n := testing.AllocsPerRun(100, func() { h.Enabled(ctx, slog.LevelDebug) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// threeRules is a flag with three targeting rules and a fallback.
const threeRules = `{"key":"flag","type":"feature_flag","valueType":"bool","default":{"rules":[
	{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["pro","team"]}}],"value":{"type":"bool","value":true}},
	{"criteria":[{"operator":"PROP_ENDS_WITH_ONE_OF","propertyName":"user.email","valueToMatch":{"type":"string_list","value":["@acme.example"]}}],"value":{"type":"bool","value":true}},
	{"criteria":[{"operator":"PROP_GREATER_THAN","propertyName":"user.orders","valueToMatch":{"type":"int","value":100}}],"value":{"type":"bool","value":true}},
	{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`

var somebody = contexts.Named("user", map[string]any{"key": "u-1", "plan": "free", "email": "u-1@example.com", "orders": 40})

func BenchmarkBool(b *testing.B) {
	c := serving(b, threeRules)
	ctx := contexts.With(b.Context(), somebody)
	b.Run("scoped", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Bool(ctx, "flag", true)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.Bool(ctx, "flag", true)
			}
		})
	})
	b.Run("new scope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Bool(contexts.With(b.Context(), somebody.And("team", nil)), "flag", true)
		}
	})
	b.Run("just-in-time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Bool(b.Context(), "flag", true, somebody)
		}
	})
}

func TestEvaluationDoesNotAllocate(t *testing.T) {
	c := serving(t, threeRules)
	ctx := contexts.With(t.Context(), somebody)
	if n := testing.AllocsPerRun(1000, func() { c.Bool(ctx, "flag", true) }); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
}
