package openfeature

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/open-feature/go-sdk/openfeature"

	"svc.example/svc/shared/client"
)

// Name is the provider's name in its metadata.
const Name = "svc"

// Provider is an OpenFeature provider. It is the SDK's FeatureProvider,
// ContextAwareStateHandler and EventHandler.
type Provider struct {
	client *client.Client
	owned  bool
	hooks  []openfeature.Hook
	events chan openfeature.Event

	mu     sync.Mutex // the SDK may initialize for several domains at once
	cancel func()     // of listening; nil when not
}

// New makes a provider that closes the client when it is shut down.
func New(c *client.Client, hooks ...openfeature.Hook) *Provider {
	p := Share(c, hooks...)
	p.owned = true
	return p
}

// Share makes a provider of a client that goes on when the provider is shut
// down.
func Share(c *client.Client, hooks ...openfeature.Hook) *Provider {
	return &Provider{client: c, hooks: hooks, events: make(chan openfeature.Event, 16)}
}

// Metadata names the provider.
func (p *Provider) Metadata() openfeature.Metadata { return openfeature.Metadata{Name: Name} }

// Hooks are those that the provider was made with.
func (p *Provider) Hooks() []openfeature.Hook { return p.hooks }

// longestInit is how long an initialization waits that is given no end.
const longestInit = 10 * time.Second

// Init is InitWithContext.
func (p *Provider) Init(evaluation openfeature.EvaluationContext) error {
	return p.InitWithContext(context.Background(), evaluation)
}

// InitWithContext waits for the client's first state. When there is none in
// time it is an error, and the provider becomes ready with the first state.
func (p *Provider) InitWithContext(ctx context.Context, _ openfeature.EvaluationContext) error {
	p.listen(true)
	ctx, cancel := context.WithTimeout(ctx, longestInit)
	defer cancel()
	return p.client.Await(ctx)
}

func (p *Provider) listen(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		p.cancel()
		p.cancel = nil
	}
	if on {
		p.cancel = p.client.Listen(p.tell)
	}
}

// Shutdown is ShutdownWithContext.
func (p *Provider) Shutdown() { _ = p.ShutdownWithContext(context.Background()) }

// ShutdownWithContext ends the events, and the client when the provider owns
// it: its last telemetry is then sent, for as long as ctx lets it.
func (p *Provider) ShutdownWithContext(ctx context.Context) error {
	p.listen(false)
	if !p.owned {
		return nil
	}
	closed := make(chan error, 1)
	go func() { closed <- p.client.Close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Streaming reports whether changes come over an event stream, at once. Otherwise the
// client polls, or watches a directory.
func (p *Provider) Streaming() bool { return p.client.Streaming() }

// EventChannel carries what happens after the initialization.
func (p *Provider) EventChannel() <-chan openfeature.Event { return p.events }

// tell passes a client's event on. It never waits: where nobody listens the
// oldest events are forgotten.
func (p *Provider) tell(e client.Event) {
	details := openfeature.ProviderEventDetails{FlagChanges: e.Changed, EventMetadata: map[string]any{"version": e.Version}}
	if e.Err != nil {
		details.Message = e.Err.Error()
	}
	switch {
	case e.Status == client.Ready:
		if e.Was != client.Ready {
			p.put(openfeature.ProviderReady, details)
		}
		if len(e.Changed) > 0 {
			p.put(openfeature.ProviderConfigChange, details)
		}
	case e.Status == client.Stale:
		p.put(openfeature.ProviderStale, details)
	case e.Err != nil:
		details.ErrorCode = openfeature.GeneralCode
		p.put(openfeature.ProviderError, details)
	}
}

func (p *Provider) put(kind openfeature.EventType, details openfeature.ProviderEventDetails) {
	e := openfeature.Event{ProviderName: Name, EventType: kind, ProviderEventDetails: details}
	for {
		select {
		case p.events <- e:
			return
		default:
		}
		select {
		case <-p.events:
		default:
		}
	}
}

// BooleanEvaluation evaluates a bool.
func (p *Provider) BooleanEvaluation(ctx context.Context, flag string, or bool, flat openfeature.FlattenedContext) openfeature.BoolResolutionDetail {
	return detail(p.client.BoolDetails(ctx, flag, or, named(flat)))
}

// FloatEvaluation evaluates a double or an int.
func (p *Provider) FloatEvaluation(ctx context.Context, flag string, or float64, flat openfeature.FlattenedContext) openfeature.FloatResolutionDetail {
	return detail(p.client.FloatDetails(ctx, flag, or, named(flat)))
}

// IntEvaluation evaluates an int.
func (p *Provider) IntEvaluation(ctx context.Context, flag string, or int64, flat openfeature.FlattenedContext) openfeature.IntResolutionDetail {
	return detail(p.client.IntDetails(ctx, flag, or, named(flat)))
}

// StringEvaluation evaluates what is a string over OFREP too: a string, a log
// level, a duration as it is written.
func (p *Provider) StringEvaluation(ctx context.Context, flag string, or string, flat openfeature.FlattenedContext) openfeature.StringResolutionDetail {
	return decoded(p.client.AnyDetails(ctx, flag, nil, named(flat)), or, func(kind string, v any) (string, bool) {
		text, ok := v.(string)
		return text, ok && kind != "json"
	})
}

// ObjectEvaluation evaluates a json or a string list. Numbers are float64,
// arrays []any.
func (p *Provider) ObjectEvaluation(ctx context.Context, flag string, or any, flat openfeature.FlattenedContext) openfeature.InterfaceResolutionDetail {
	return decoded(p.client.AnyDetails(ctx, flag, nil, named(flat)), or, func(kind string, v any) (any, bool) {
		return v, kind == "json" || kind == "string_list"
	})
}

// decoded turns a value in JSON into one of another type.
func decoded[T any](d client.Details[json.RawMessage], or T, as func(kind string, v any) (T, bool)) openfeature.GenericResolutionDetail[T] {
	out := client.Details[T]{Key: d.Key, Value: or, Reason: d.Reason, RuleSource: d.RuleSource, RuleIndex: d.RuleIndex,
		ArmIndex: d.ArmIndex, Variant: d.Variant, Type: d.Type, ValueType: d.ValueType, Version: d.Version, Secret: d.Secret, Err: d.Err}
	if d.Err != nil || d.Reason == client.Default {
		return detail(out)
	}
	var v any
	value, ok := or, false
	if json.Unmarshal(d.Value, &v) == nil {
		value, ok = as(d.ValueType, v)
	}
	if !ok {
		out.Reason, out.Variant = client.Failed, ""
		out.Err = &client.Error{Code: client.TypeMismatch, Key: d.Key, Message: "the value is of type " + d.ValueType}
		return detail(out)
	}
	out.Value = value
	return detail(out)
}

func detail[T any](d client.Details[T]) openfeature.GenericResolutionDetail[T] {
	return openfeature.GenericResolutionDetail[T]{
		Value: d.Value,
		ProviderResolutionDetail: openfeature.ProviderResolutionDetail{
			Reason:          openfeature.Reason(d.Reason),
			Variant:         d.Variant,
			FlagMetadata:    metadata(d),
			ResolutionError: resolutionError(d.Err),
		},
	}
}

func metadata[T any](d client.Details[T]) openfeature.FlagMetadata {
	m := openfeature.FlagMetadata{}
	for name, text := range map[string]string{"configType": d.Type, "valueType": d.ValueType, "version": d.Version} {
		if text != "" {
			m[name] = text
		}
	}
	if d.Reason == client.TargetingMatch || d.Reason == client.Split {
		m["ruleSource"], m["ruleIndex"] = d.RuleSource, int64(d.RuleIndex)
	}
	if d.Reason == client.Split {
		m["weightedValueIndex"] = int64(d.ArmIndex)
	}
	if d.Secret {
		m["secret"] = true
	}
	return m
}

func resolutionError(err error) openfeature.ResolutionError {
	var e *client.Error
	if !errors.As(err, &e) {
		return openfeature.ResolutionError{}
	}
	text := strings.TrimSpace(e.Error())
	switch e.Code {
	case client.NotReady:
		return openfeature.NewProviderNotReadyResolutionError(text)
	case client.NotFound:
		return openfeature.NewFlagNotFoundResolutionError(text)
	case client.TypeMismatch:
		return openfeature.NewTypeMismatchResolutionError(text)
	}
	return openfeature.NewGeneralResolutionError(text)
}
