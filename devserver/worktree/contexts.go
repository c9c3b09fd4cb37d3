package worktree

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/telemetry"
)

const (
	maxAsked          = 64 << 10 // bytes of a request that are read for its context
	maxContext        = 8 << 10  // bytes of a context that is remembered, as JSON
	maxSeenContexts   = 500      // contexts with a key
	maxClientContexts = 10
	maxClientFlags    = 50 // flags that a client asked for by name
)

// question is what an application has asked, as far as it is understood.
type question struct {
	context *jsontree.Node // named contexts, as POST /v1/evaluate takes them; nil for none
	flag    string         // the only one that was asked for; "" for all
}

// asks reads what a request asks, which is served meanwhile: read returns it when the
// request is answered.
func asks(r *http.Request) (read func() question) {
	if path, native := strings.CutPrefix(r.URL.Path, endpoints.Evaluate.Path); native {
		return func() question {
			token := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(path[:min(len(path), maxAsked)], "="))
			text, err := base64.RawStdEncoding.DecodeString(token)
			if err != nil {
				return question{}
			}
			return question{context: named(text)}
		}
	}
	if r.Body == nil {
		return func() question { return question{} }
	}
	body := &copied{ReadCloser: r.Body}
	r.Body = body
	flag := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, endpoints.EvaluateFlags.Path), "/")
	return func() question { return question{flat(body.text.Bytes()), beginning(flag)} }
}

// copied keeps the beginning of what is read of a body.
type copied struct {
	io.ReadCloser
	text bytes.Buffer
}

func (c *copied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.text.Write(p[:min(n, maxAsked+1-c.text.Len())])
	return n, err
}

// named are the contexts of a native poll.
func named(text []byte) *jsontree.Node {
	tree, err := jsontree.ParseWithin(text, maxAsked)
	if err != nil || tree.Kind != jsontree.Object {
		return nil
	}
	for _, m := range tree.Members {
		if m.Value.Kind != jsontree.Object {
			return nil
		}
	}
	return tree
}

// flat are the contexts of an OFREP request, whose properties have the name of their
// context before a dot.
func flat(body []byte) *jsontree.Node {
	tree, err := jsontree.ParseWithin(body, maxAsked)
	if err != nil || len(body) > maxAsked || tree.Get("context") == nil || tree.Get("context").Kind != jsontree.Object {
		return nil
	}
	contexts := jsontree.NewObject()
	put := func(name, property string, value *jsontree.Node) {
		if contexts.Get(name) == nil {
			contexts.Set(name, jsontree.NewObject())
		}
		if of := contexts.Get(name); of.Get(property) == nil {
			of.Set(property, value)
		}
	}
	given := tree.Get("context")
	for _, m := range given.Members { // what is flat goes before what is not
		if name, property, dotted := strings.Cut(m.Name, "."); dotted {
			put(name, property, m.Value)
		} else if m.Name != "targetingKey" && m.Value.Kind != jsontree.Object {
			put("", m.Name, m.Value)
		}
	}
	for _, m := range given.Members {
		if m.Value.Kind == jsontree.Object && !strings.Contains(m.Name, ".") {
			for _, property := range m.Value.Members {
				put(m.Name, property.Name, property.Value)
			}
		}
	}
	if target := given.Get("targetingKey"); target != nil && target.Kind == jsontree.String {
		put("user", "key", target)
	}
	return contexts
}

// seenContexts are the contexts with a key that applications have asked for, in the
// environment that is served. They are what telemetry saves of a workspace.
type seenContexts struct {
	environment string
	saved       *lru.Cache[[2]string, telemetry.Saved] // by type and key
}

// Contexts implements control.SavedContexts.
func (s seenContexts) Contexts(_ context.Context, _ string, q telemetry.Query) ([]telemetry.Saved, error) {
	found := slices.DeleteFunc(s.saved.Values(), func(saved telemetry.Saved) bool { return !q.Match(saved) })
	return telemetry.Newest(found, q.Limit), nil
}

// Walk implements control.SavedContexts.
func (s seenContexts) Walk(ctx context.Context, workspace string, w telemetry.Walk, visit func(telemetry.Saved) bool) error {
	found, err := s.Contexts(ctx, workspace, telemetry.Query{Environment: w.Environment, Limit: maxSeenContexts})
	slices.SortFunc(found, inWalkOrder)
	visited := 0
	for _, saved := range found {
		if w.After != nil && inWalkOrder(saved, *w.After) <= 0 {
			continue
		}
		if w.Limit > 0 && visited == w.Limit || !visit(saved) {
			break
		}
		visited++
	}
	return err
}

func inWalkOrder(a, b telemetry.Saved) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), b.LastSeen.Compare(a.LastSeen), strings.Compare(a.Key, b.Key))
}

// Forget implements control.SavedContexts.
func (s seenContexts) Forget(_ context.Context, _ string, _ []string, contextType, key string, _ time.Time) (bool, error) {
	name := [2]string{contextType, key}
	_, found := s.saved.Get(name)
	s.saved.Delete(name)
	return found, nil
}
