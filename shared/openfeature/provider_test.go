package openfeature_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/client"
	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/openfeature"
	"svc.example/svc/shared/testing/must"
)

// What the SDK looks for in a provider.
var (
	_ of.FeatureProvider          = (*openfeature.Provider)(nil)
	_ of.ContextAwareStateHandler = (*openfeature.Provider)(nil)
	_ of.EventHandler             = (*openfeature.Provider)(nil)
)

func value(kind, v string) string { return fmt.Sprintf(`{"type":%q,"value":%s}`, kind, v) }

func rule(property, is, v string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":%q,"valueToMatch":{"type":"string_list","value":[%q]}}],"value":%s}`, property, is, v)
}

func always(v string) string { return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + v + `}` }

func flag(key, valueType, variants string, rules ...string) string {
	return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":%q,"default":{"rules":[%s]},"variants":[%s]}`, key, valueType, strings.Join(rules, ","), variants)
}

func variant(name, v string) string { return fmt.Sprintf(`{"name":%q,"value":%s}`, name, v) }

// flags are those of the specification's evaluation scenarios (appendix B),
// which the SDK's own end-to-end tests serve from memory, and some more.
func flags() []string {
	object := value("json", `{"showImages":true,"title":"Check out these pics!","imagesPerPage":100}`)
	aware := strings.ReplaceAll(rule("fn", "Sulisław", value("string", `"INTERNAL"`)), `"criteria":[`, `"criteria":[`+strings.Join([]string{
		`{"operator":"PROP_IS_ONE_OF","propertyName":"ln","valueToMatch":{"type":"string_list","value":["Świętopełk"]}}`,
		`{"operator":"PROP_IS_ONE_OF","propertyName":"age","valueToMatch":{"type":"string_list","value":["29"]}}`,
		`{"operator":"PROP_IS_ONE_OF","propertyName":"customer","valueToMatch":{"type":"string_list","value":["false"]}}`, ""}, ","))
	return []string{
		flag("boolean-flag", "bool", variant("on", value("bool", "true")), always(value("bool", "true"))),
		flag("string-flag", "string", variant("greeting", value("string", `"hi"`)), always(value("string", `"hi"`))),
		flag("integer-flag", "int", variant("ten", value("int", "10")), always(value("int", "10"))),
		flag("float-flag", "double", variant("half", value("double", "0.5")), always(value("double", "0.5"))),
		flag("object-flag", "json", variant("template", object), always(object)),
		flag("wrong-flag", "string", "", always(value("string", `"uh-oh"`))),
		flag("context-aware", "string", variant("internal", value("string", `"INTERNAL"`))+","+variant("external", value("string", `"EXTERNAL"`)), aware, always(value("string", `"EXTERNAL"`))),
		flag("plan", "string", "", rule("user.plan", "pro", value("string", `"pro"`)), rule("device.os", "linux", value("string", `"linux"`)),
			`{"criteria":[{"operator":"IS_PRESENT","propertyName":"user.key"}],"value":{"type":"string","value":"keyed"}}`, always(value("string", `"nobody"`))),
		flag("nothing", "bool", "", rule("user.plan", "nobody's", value("bool", "true"))),
		flag("list", "string_list", "", always(value("string_list", `["a","b"]`))),
		flag("duration", "duration", "", always(value("duration", `"PT5S"`))),
		flag("half", "bool", "", always(`{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[{"value":{"type":"bool","value":true},"weight":1},{"value":{"type":"bool","value":false},"weight":0}]}}`)),
		strings.Replace(flag("broken", "string", "", always(`{"type":"provided","value":{"source":"ENV_VAR","lookup":"SVC_TEST_NOT_SET"}}`)), "feature_flag", "config", 1),
		strings.Replace(flag("password", "string", "", always(`{"type":"string","value":"s3cr3t","confidential":true}`)), "feature_flag", "config", 1),
	}
}

func write(t testing.TB, dir, text string) {
	t.Helper()
	var head struct{ Key, Type string }
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	folder := map[string]string{"feature_flag": "feature-flags", "config": "configs"}[head.Type]
	path := filepath.Join(dir, folder, head.Key+".json")
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if err := atomicfile.ReplaceAt(path, []byte(text), 0o644); err != nil { // or the file could be seen empty
		t.Fatal(err)
	}
}

func open(t testing.TB, documents ...string) (*client.Client, string) {
	t.Helper()
	dir := t.TempDir()
	for _, text := range documents {
		write(t, dir, text)
	}
	c := must.Get(client.Open(context.Background(), client.Options{Datadir: dir, Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { c.Close() })
	return c, dir
}

// connected is an OpenFeature client of its own domain over a provider.
func connected(t testing.TB, p of.FeatureProvider) *of.Client {
	t.Helper()
	must.Do(t, of.SetNamedProviderAndWait(t.Name(), p))
	t.Cleanup(func() { of.SetNamedProviderAndWait(t.Name(), of.NoopProvider{}) })
	return of.NewClient(t.Name())
}

func anonymous(attributes map[string]any) of.EvaluationContext {
	return of.NewTargetlessEvaluationContext(attributes)
}

// outcome is what an evaluation says, as far as tests compare it.
type outcome struct {
	value   any
	variant string
	reason  of.Reason
	code    of.ErrorCode
}

func outcomeOf[T any](d of.GenericEvaluationDetails[T], _ error) outcome {
	return outcome{any(d.Value), d.Variant, d.Reason, d.ErrorCode}
}

func TestTheSpecificationsEvaluationScenarios(t *testing.T) {
	c, _ := open(t, flags()...)
	of := connected(t, openfeature.New(c))
	ctx, none := t.Context(), anonymous(nil)
	aware := anonymous(map[string]any{"fn": "Sulisław", "ln": "Świętopełk", "age": int64(29), "customer": false})
	for what, tt := range map[string]struct{ got, want outcome }{
		"boolean":             {outcomeOf(of.BooleanValueDetails(ctx, "boolean-flag", false, none)), outcome{true, "on", "STATIC", ""}},
		"string":              {outcomeOf(of.StringValueDetails(ctx, "string-flag", "bye", none)), outcome{"hi", "greeting", "STATIC", ""}},
		"integer":             {outcomeOf(of.IntValueDetails(ctx, "integer-flag", 1, none)), outcome{int64(10), "ten", "STATIC", ""}},
		"float":               {outcomeOf(of.FloatValueDetails(ctx, "float-flag", 0.1, none)), outcome{0.5, "half", "STATIC", ""}},
		"object":              {outcomeOf(of.ObjectValueDetails(ctx, "object-flag", nil, none)), outcome{map[string]any{"showImages": true, "title": "Check out these pics!", "imagesPerPage": 100.0}, "template", "STATIC", ""}},
		"context":             {outcomeOf(of.StringValueDetails(ctx, "context-aware", "EXTERNAL", aware)), outcome{"INTERNAL", "internal", "TARGETING_MATCH", ""}},
		"empty context":       {outcomeOf(of.StringValueDetails(ctx, "context-aware", "or", none)), outcome{"EXTERNAL", "external", "TARGETING_MATCH", ""}},
		"missing":             {outcomeOf(of.StringValueDetails(ctx, "missing-flag", "uh-oh", none)), outcome{"uh-oh", "", "ERROR", "FLAG_NOT_FOUND"}},
		"wrong type":          {outcomeOf(of.IntValueDetails(ctx, "wrong-flag", 13, none)), outcome{int64(13), "", "ERROR", "TYPE_MISMATCH"}},
		"object as a string":  {outcomeOf(of.StringValueDetails(ctx, "object-flag", "or", none)), outcome{"or", "", "ERROR", "TYPE_MISMATCH"}},
		"string as an object": {outcomeOf(of.ObjectValueDetails(ctx, "string-flag", "or", none)), outcome{"or", "", "ERROR", "TYPE_MISMATCH"}},
		"an int as a float":   {outcomeOf(of.FloatValueDetails(ctx, "integer-flag", 1, none)), outcome{10.0, "ten", "STATIC", ""}},
		"no rule matches":     {outcomeOf(of.BooleanValueDetails(ctx, "nothing", true, none)), outcome{true, "", "DEFAULT", ""}},
		"a list":              {outcomeOf(of.ObjectValueDetails(ctx, "list", nil, none)), outcome{[]any{"a", "b"}, "static", "STATIC", ""}},
		"a duration":          {outcomeOf(of.StringValueDetails(ctx, "duration", "", none)), outcome{"PT5S", "static", "STATIC", ""}},
		"a split":             {outcomeOf(of.BooleanValueDetails(ctx, "half", false, anonymous(map[string]any{"user.key": "u"}))), outcome{true, "split:0", "SPLIT", ""}},
		"a broken value":      {outcomeOf(of.StringValueDetails(ctx, "broken", "or", none)), outcome{"or", "", "ERROR", "GENERAL"}},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: %+v, want %+v", what, tt.got, tt.want)
		}
	}
}

func TestMetadata(t *testing.T) {
	c, _ := open(t, flags()...)
	client := connected(t, openfeature.New(c))
	if of.NamedProviderMetadata(t.Name()).Name != openfeature.Name {
		t.Error("the provider's name")
	}
	d, _ := client.StringValueDetails(t.Context(), "plan", "", anonymous(map[string]any{"user.plan": "pro"}))
	want := of.FlagMetadata{"configType": "feature_flag", "valueType": "string", "version": c.Version(), "ruleSource": "default", "ruleIndex": int64(0)}
	if !reflect.DeepEqual(d.FlagMetadata, want) {
		t.Errorf("%v, want %v", d.FlagMetadata, want)
	}
	secret, _ := client.StringValueDetails(t.Context(), "password", "", anonymous(nil))
	if marked, err := secret.FlagMetadata.GetBool("secret"); secret.Value != "s3cr3t" || !marked || err != nil {
		t.Errorf("a secret is not marked: %v", secret.FlagMetadata)
	}
}

func TestMergingRule8FlatKeysMergeFirstThenReplaceNamedContexts(t *testing.T) {
	c, _ := open(t, flags()...)
	client := connected(t, openfeature.New(c))
	plan := func(ctx context.Context, attributes of.EvaluationContext) string {
		got, err := client.StringValue(ctx, "plan", "or", attributes)
		must.Report(t, err)
		return got
	}
	native := contexts.With(t.Context(), contexts.Named("user", map[string]any{"key": "u", "plan": "pro"}))
	flat := func(pairs ...any) of.EvaluationContext {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return anonymous(m)
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("nothing", plan(t.Context(), flat()), "nobody")
	check("native layers alone", plan(native, flat()), "pro")
	check("a flat key replaces the whole native context", plan(native, flat("user.name", "Ada")), "nobody")
	check("so does a targeting key", plan(native, of.NewEvaluationContext("u", nil)), "keyed")
	check("other named contexts survive", plan(native, flat("device.os", "plan9")), "pro")
	check("nothing is left behind", plan(native, flat()), "pro")

	// Tiers merge per flat key: the client's plan and the call's name are one
	// user by the time that it is mapped.
	client.SetEvaluationContext(flat("user.plan", "pro"))
	check("tiers merge per key", plan(t.Context(), flat("user.name", "Ada")), "pro")
	check("the more specific tier wins", plan(t.Context(), flat("user.plan", "free", "user.key", "u")), "keyed")
	ctx := of.WithTransactionContext(t.Context(), flat("device.os", "linux"))
	client.SetEvaluationContext(flat())
	check("the transaction tier", plan(ctx, flat()), "linux")
	c.Global().Put("device", map[string]any{"os": "linux"})
	check("the native global layer", plan(t.Context(), flat()), "linux")
	check("is replaced too", plan(t.Context(), flat("device.arch", "arm64")), "nobody")
}

// events collects what a domain's handlers are told.
func events(t *testing.T, kinds ...of.EventType) chan string {
	seen := make(chan string, 100)
	for _, kind := range kinds {
		callback := func(d of.EventDetails) { seen <- fmt.Sprint(kind, " ", d.FlagChanges) }
		of.NewClient(t.Name()).AddHandler(kind, &callback)
		t.Cleanup(func() { of.NewClient(t.Name()).RemoveHandler(kind, &callback) })
	}
	return seen
}

func next(t *testing.T, seen chan string) string {
	t.Helper()
	select {
	case e := <-seen:
		return e
	case <-time.After(time.Minute):
		t.Fatal("no event")
		return ""
	}
}

func TestEvents(t *testing.T) {
	c, dir := open(t, flags()...)
	client := connected(t, openfeature.New(c))
	seen := events(t, of.ProviderConfigChange, of.ProviderStale)
	ready := events(t, of.ProviderReady)
	next(t, ready) // it is told to who asks
	write(t, dir, flag("boolean-flag", "bool", "", always(value("bool", "false"))))
	if e := next(t, seen); e != "PROVIDER_CONFIGURATION_CHANGED [boolean-flag]" || client.State() != of.ReadyState {
		t.Errorf("%s, %s", e, client.State())
	}
	if got, _ := client.BooleanValue(t.Context(), "boolean-flag", true, anonymous(nil)); got {
		t.Error("the edit is not served")
	}
	write(t, dir, `{"key":"boolean-flag","type":"feature_flag","valueType":"bool"}`)
	if e := next(t, seen); !strings.HasPrefix(e, "PROVIDER_STALE") || client.State() != of.StaleState {
		t.Errorf("%s, %s", e, client.State())
	}
	if got, err := client.StringValue(t.Context(), "string-flag", "", anonymous(nil)); got != "hi" || err != nil {
		t.Errorf("a stale provider serves %q, %v", got, err)
	}
	if len(ready) > 0 {
		t.Error("ready once more after an edit: handlers of that initialize")
	}
	write(t, dir, flag("boolean-flag", "bool", "", always(value("bool", "true"))))
	if e := next(t, seen); e != "PROVIDER_CONFIGURATION_CHANGED [boolean-flag]" || client.State() != of.ReadyState {
		t.Errorf("%s, %s", e, client.State())
	}
	next(t, ready) // no longer stale
}

func TestALateFirstStateMakesTheProviderReady(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, `{"key":"f","type":"feature_flag","valueType":"bool"}`)
	c := must.Get(client.Open(t.Context(), client.Options{Datadir: dir, StartAnyway: true, Log: slog.New(slog.DiscardHandler)}))(t)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	p := openfeature.New(c)
	if err := of.SetNamedProviderWithContextAndWait(ctx, t.Name(), p); err == nil {
		t.Error("ready without a state")
	}
	client := of.NewClient(t.Name())
	if d, err := client.BooleanValueDetails(t.Context(), "f", false, anonymous(nil)); err == nil || d.Value {
		t.Errorf("evaluates without a state: %+v", d)
	}
	seen := events(t, of.ProviderReady)
	write(t, dir, flag("f", "bool", "", always(value("bool", "true"))))
	next(t, seen)
	if got, err := client.BooleanValue(t.Context(), "f", false, anonymous(nil)); !got || err != nil {
		t.Errorf("%v, %v, %s", got, err, client.State())
	}
}

func TestShutdown(t *testing.T) {
	for name, tt := range map[string]struct {
		provide func(*client.Client, ...of.Hook) *openfeature.Provider
		follows bool
	}{"New closes": {openfeature.New, false}, "Share does not": {openfeature.Share, true}} {
		t.Run(name, func(t *testing.T) {
			c, dir := open(t, flags()...)
			connected(t, tt.provide(c))
			version := c.Version()
			must.Do(t, of.SetNamedProviderAndWait(t.Name(), of.NoopProvider{}))
			p := tt.provide(c)
			p.Shutdown() // also without Init, and once more
			write(t, dir, flag("new", "bool", "", always(value("bool", "true"))))
			changed := func() bool { return c.Version() != version }
			for end := time.Now().Add(map[bool]time.Duration{true: time.Minute, false: 300 * time.Millisecond}[tt.follows]); !changed() && time.Now().Before(end); {
				time.Sleep(5 * time.Millisecond)
			}
			if changed() != tt.follows || c.String(t.Context(), "string-flag", "") != "hi" {
				t.Errorf("the client follows: %v", changed())
			}
		})
	}
}

func TestEventsThatNobodyReadsAreForgotten(t *testing.T) {
	c, dir := open(t, flags()...)
	p := openfeature.Share(c)
	must.Do(t, p.Init(anonymous(nil)))
	for i := range cap(p.EventChannel()) + 2 {
		version := c.Version()
		write(t, dir, flag("new", "int", "", always(value("int", fmt.Sprint(i)))))
		for end := time.Now().Add(time.Minute); c.Version() == version; time.Sleep(2 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the client waits for a reader of events")
			}
		}
	}
	if len(p.EventChannel()) != cap(p.EventChannel()) {
		t.Errorf("%d events", len(p.EventChannel()))
	}
}
