package opentelemetry_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdk "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"svc.example/svc/shared/client"
	"svc.example/svc/shared/contexts"
	svcfeature "svc.example/svc/shared/openfeature"
	"svc.example/svc/shared/opentelemetry"
	"svc.example/svc/shared/testing/must"
)

// records keeps what OpenTelemetry's own SDK would export.
type records struct{ all []sdk.Record }

func (r *records) OnEmit(_ context.Context, record *sdk.Record) error {
	r.all = append(r.all, record.Clone())
	return nil
}
func (r *records) Enabled(context.Context, sdk.EnabledParameters) bool { return true }
func (r *records) Shutdown(context.Context) error                      { return nil }
func (r *records) ForceFlush(context.Context) error                    { return nil }

// last returns the attributes of the one event that was emitted since.
func (r *records) last(t *testing.T) map[string]any {
	t.Helper()
	if len(r.all) != 1 {
		t.Fatalf("there are %d events, not 1", len(r.all))
	}
	record := r.all[0]
	r.all = nil
	if record.EventName() != "feature_flag.evaluation" || record.Timestamp().IsZero() || record.Severity() != log.SeverityInfo ||
		record.TraceID() != span.TraceID() || !strings.HasPrefix(record.InstrumentationScope().SchemaURL, "https://opentelemetry.io/schemas/") {
		t.Errorf("the event is %q of %v in the trace %s, by %v", record.EventName(), record.Timestamp(), record.TraceID(), record.InstrumentationScope())
	}
	attributes := map[string]any{}
	record.WalkAttributes(func(a attribute.KeyValue) bool {
		attributes[string(a.Key)] = a.Value.AsInterface()
		return true
	})
	return attributes
}

var span = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})

var documents = map[string]string{
	"feature-flags/checkout.json": `{"key": "checkout", "type": "feature_flag", "valueType": "bool",
		"variants": [{"name": "on", "value": {"type": "bool", "value": true}}, {"name": "off", "value": {"type": "bool", "value": false}}],
		"default": {"rules": [{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan",
			"valueToMatch": {"type": "string_list", "value": ["pro"]}}], "value": {"type": "bool", "value": true}}]}}`,
	"configs/password.json": `{"key": "password", "type": "config", "valueType": "string", "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "s3cr3t", "confidential": true}}]}}`,
}

// world is a client over the documents, whose events are recorded, and an
// OpenFeature client over another.
type world struct {
	records  records
	client   *client.Client
	features *openfeature.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, w := t.TempDir(), new(world)
	for path, text := range documents {
		path = filepath.Join(dir, path)
		os.MkdirAll(filepath.Dir(path), 0o755)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	provider := sdk.NewLoggerProvider(sdk.WithProcessor(&w.records))
	open := func(o client.Options) *client.Client {
		o.Datadir, o.Log = dir, slog.New(slog.DiscardHandler)
		c := must.Get(client.Open(t.Context(), o))(t)
		t.Cleanup(func() { c.Close() })
		return c
	}
	w.client = open(client.Options{Evaluated: opentelemetry.Evaluated(provider)})
	must.Do(t, openfeature.SetNamedProviderAndWait(t.Name(), svcfeature.New(open(client.Options{}), opentelemetry.Hook(provider))))
	t.Cleanup(func() { openfeature.SetNamedProviderAndWait(t.Name(), openfeature.NoopProvider{}) })
	w.features = openfeature.NewClient(t.Name())
	return w
}

// TestAnEvaluationIsAnEvent: the same one by the client's getters, plain and with
// details, and by OpenFeature's.
func TestAnEvaluationIsAnEvent(t *testing.T) {
	w := newWorld(t)
	ctx := trace.ContextWithSpanContext(t.Context(), span)
	user := func(plan string) *contexts.Set {
		return contexts.Named("user", map[string]any{"key": "u-1", "plan": plan})
	}
	of := func(plan string) openfeature.EvaluationContext {
		return openfeature.NewEvaluationContext("u-1", map[string]any{"user.plan": plan})
	}
	for name, test := range map[string]struct {
		ask  []func()
		want map[string]any
	}{
		"a rule matches": {
			[]func(){
				func() { w.client.Bool(ctx, "checkout", false, user("pro")) },
				func() { w.client.BoolDetails(contexts.With(ctx, user("pro")), "checkout", false) },
				func() { w.features.BooleanValue(ctx, "checkout", false, of("pro")) },
			},
			map[string]any{"feature_flag.key": "checkout", "feature_flag.result.variant": "on", "feature_flag.result.reason": "targeting_match"},
		},
		"no rule matches": {
			[]func(){
				func() { w.client.Bool(ctx, "checkout", true, user("free")) },
				func() { w.features.BooleanValue(ctx, "checkout", true, of("free")) },
			},
			map[string]any{"feature_flag.key": "checkout", "feature_flag.result.value": true, "feature_flag.result.reason": "default"},
		},
		"a secret": {
			[]func(){
				func() { w.client.String(ctx, "password", "", user("pro")) },
				func() { w.client.AnyDetails(ctx, "password", nil, user("pro")) },
				func() { w.features.StringValue(ctx, "password", "", of("pro")) },
			},
			map[string]any{"feature_flag.key": "password", "feature_flag.result.variant": "static", "feature_flag.result.reason": "static"},
		},
		"a flag that is not there": {
			[]func(){
				func() { w.client.Duration(ctx, "chekout", time.Minute, user("pro")) },
				func() { w.features.StringValue(ctx, "chekout", "1m0s", of("pro")) },
			},
			map[string]any{"feature_flag.key": "chekout", "feature_flag.result.value": "1m0s", "feature_flag.result.reason": "error",
				"error.type": "flag_not_found", "feature_flag.error.message": "chekout: there is no flag, config or log level of this key"},
		},
		"another type": {
			[]func(){
				func() { w.client.Int(ctx, "checkout", 7, user("pro")) },
				func() { w.features.IntValue(ctx, "checkout", 7, of("pro")) },
			},
			map[string]any{"feature_flag.key": "checkout", "feature_flag.result.value": int64(7), "feature_flag.result.reason": "error",
				"error.type": "type_mismatch", "feature_flag.error.message": "checkout: the value is of type bool"},
		},
		"nobody": {
			[]func(){
				func() { w.client.Bool(ctx, "checkout", true) },
				func() { w.features.BooleanValue(ctx, "checkout", true, openfeature.EvaluationContext{}) },
			},
			map[string]any{"feature_flag.key": "checkout", "feature_flag.result.value": true, "feature_flag.result.reason": "default"},
		},
		"a list": {
			[]func(){func() { w.client.StringList(ctx, "none", []string{"a", "b"}, user("pro")) }},
			map[string]any{"feature_flag.key": "none", "feature_flag.result.value": []string{"a", "b"}, "feature_flag.result.reason": "error",
				"error.type": "flag_not_found", "feature_flag.error.message": "none: there is no flag, config or log level of this key"},
		},
		"an object": {
			[]func(){
				func() { w.client.JSON(ctx, "none", json.RawMessage(`{"a":1.5}`), user("pro")) },
				func() { w.features.ObjectValue(ctx, "none", map[string]any{"a": 1.5}, of("pro")) },
			},
			map[string]any{"feature_flag.key": "none", "feature_flag.result.value": `{"a":1.5}`, "feature_flag.result.reason": "error",
				"error.type": "flag_not_found", "feature_flag.error.message": "none: there is no flag, config or log level of this key"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i, ask := range test.ask {
				ask()
				got := w.records.last(t)
				want := maps.Clone(test.want)
				if want["feature_flag.provider.name"] = "svc"; name != "nobody" {
					want["feature_flag.context.id"] = "u-1"
				}
				version := got["feature_flag.version"]
				delete(got, "feature_flag.version")
				if version == nil && want["error.type"] == nil {
					t.Errorf("the event does not say which version was evaluated")
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("of getter %d the event is\n%v, not\n%v", i, got, want)
				}
			}
		})
	}
}
