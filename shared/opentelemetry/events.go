// Package opentelemetry emits what applications evaluate as OpenTelemetry's event
// feature_flag.evaluation, by its semantic conventions for feature flags: the key,
// the variant, the reason, whose evaluation it was and in which version of the
// workspace. It emits for the client by client.Options.Evaluated:
//
//	client.Options{..., Evaluated: opentelemetry.Evaluated(provider)}
//
// or, where the client stands behind OpenFeature, by a hook of that:
//
//	openfeature.SetProviderAndWait(svcfeature.New(flags, opentelemetry.Hook(provider)))
//
// One of them is enough: with both there are two events for an evaluation.
//
// What must stay true:
//
//   - No event holds a secret. It names a variant where there is one, and has a
//     value where the caller's own default was returned.
//   - An event goes to the span of the evaluation's ctx; how it gets anywhere is
//     the provider's business.
package opentelemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/telemetry"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"svc.example/svc/shared/client"
	svcfeature "svc.example/svc/shared/openfeature"
)

// scope names who emits.
const scope = "svc.example/svc/shared/opentelemetry"

func logger(p log.LoggerProvider) log.Logger {
	return p.Logger(scope, log.WithSchemaURL(semconv.SchemaURL))
}

// Evaluated emits an event for each evaluation of the client whose
// Options.Evaluated it is.
func Evaluated(p log.LoggerProvider) func(context.Context, client.Evaluation) {
	to := logger(p)
	return func(ctx context.Context, e client.Evaluation) {
		if !enabled(ctx, to) {
			return
		}
		attributes := map[string]any{
			telemetry.FlagKey:         e.Key,
			telemetry.ProviderNameKey: svcfeature.Name,
			telemetry.ResultReasonKey: strings.ToLower(string(e.Reason)),
			telemetry.ContextIDKey:    e.UserKey,
			telemetry.VersionKey:      e.Version,
		}
		if e.Variant != "" {
			attributes[telemetry.ResultVariantKey] = e.Variant
		} else if !e.Secret {
			attributes[telemetry.ResultValueKey] = e.Value
		}
		if failed, ok := errors.AsType[*client.Error](e.Err); ok {
			attributes[telemetry.ErrorTypeKey] = strings.ToLower(string(failed.Code))
			attributes[telemetry.ErrorMessageKey] = failed.Error()
		}
		emit(ctx, to, attributes)
	}
}

// Hook emits an event for each evaluation of OpenFeature that it is a hook of.
func Hook(p log.LoggerProvider) openfeature.Hook { return hook{logger: logger(p)} }

type hook struct {
	openfeature.UnimplementedHook
	logger log.Logger
}

// Finally is called when an evaluation is over, whatever came of it.
func (h hook) Finally(ctx context.Context, of openfeature.HookContext, details openfeature.InterfaceEvaluationDetails, _ openfeature.HookHints) {
	if enabled(ctx, h.logger) {
		emit(ctx, h.logger, telemetry.CreateEvaluationEvent(of, details).Attributes)
	}
}

func enabled(ctx context.Context, to log.Logger) bool {
	return to.Enabled(ctx, log.EnabledParameters{Severity: log.SeverityInfo, EventName: telemetry.FlagEvaluationKey})
}

func emit(ctx context.Context, to log.Logger, attributes map[string]any) {
	var r log.Record
	r.SetEventName(telemetry.FlagEvaluationKey)
	r.SetTimestamp(time.Now())
	r.SetSeverity(log.SeverityInfo)
	for name, v := range attributes {
		if name == telemetry.ErrorMessageKey {
			name = string(semconv.FeatureFlagErrorMessageKey) // as the conventions call it since
		}
		if v != nil && v != "" {
			r.AddAttributes(attribute.KeyValue{Key: attribute.Key(name), Value: valueOf(v)})
		}
	}
	to.Emit(ctx, r)
}

// valueOf is a value as an attribute. What has no type there is its JSON.
func valueOf(v any) attribute.Value {
	switch v := v.(type) {
	case bool:
		return attribute.BoolValue(v)
	case string:
		return attribute.StringValue(v)
	case int64:
		return attribute.Int64Value(v)
	case float64:
		return attribute.Float64Value(v)
	case []string:
		return attribute.StringSliceValue(v)
	case time.Duration:
		return attribute.StringValue(v.String())
	}
	text, err := json.Marshal(v)
	if err != nil {
		return attribute.StringValue(fmt.Sprint(v))
	}
	return attribute.StringValue(string(text))
}
