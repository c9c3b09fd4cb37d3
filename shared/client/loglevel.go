package client

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/document"
)

// The levels that slog does not name.
const (
	LevelTrace slog.Level = slog.LevelDebug - 4
	LevelFatal slog.Level = slog.LevelError + 4
)

var levels = map[string]slog.Level{
	"TRACE": LevelTrace, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo,
	"WARN": slog.LevelWarn, "ERROR": slog.LevelError, "FATAL": LevelFatal,
}

// loggerContext and loggerKey are the two halves of document.LoggerProperty.
var loggerContext, loggerKey, _ = strings.Cut(document.LoggerProperty, ".")

// LogLevel is the level of a logger, by its path such as com.acme.cart, or the
// default. Rules match the beginning of the path, as text; they may look at
// the scope of ctx too.
func (c *Client) LogLevel(ctx context.Context, logger string, or slog.Level) slog.Level {
	level, _, _ := c.level(ctx, logger)
	if level == nil {
		return or
	}
	return *level
}

// level also returns what it was worked out from; nil when it may come out
// differently the next time.
func (c *Client) level(ctx context.Context, logger string) (*slog.Level, *contexts.Set, *table) {
	t := c.table.Load()
	if t == nil {
		return nil, nil, nil
	}
	set := contexts.Merged(ctx, c.global.Current())
	i := t.logLevel(c.options.Service)
	if i < 0 {
		c.warnOfLevels(t)
		return nil, set, t
	}
	out, chance := t.once(set.Under(contexts.Named(loggerContext, map[string]any{loggerKey: logger})), i, c)
	c.count(t, out)
	from := t
	if t.timed || chance {
		from = nil
	}
	if out.value == nil || out.value.err != nil {
		return nil, set, from
	}
	if level, known := levels[out.value.text]; known {
		return &level, set, from
	}
	return nil, set, from
}

// logLevel finds the log-level document of a service, or the only one.
func (t *table) logLevel(service string) int {
	if service == "" && len(t.levels) == 1 {
		return t.levels[0]
	}
	if i, found := t.index[document.LogLevelPrefix+strings.TrimPrefix(service, document.LogLevelPrefix)]; found && t.items[i].kind == document.LogLevel {
		return i
	}
	return -1
}

// warnOfLevels says that no log-level document applies although one is meant
// to: once for each state.
func (c *Client) warnOfLevels(t *table) {
	service := c.options.Service
	if service == "" && len(t.levels) == 0 || t.levelsSaid.Swap(true) {
		return
	}
	why := "Options.Service is empty, and there are several log-level documents"
	if service != "" {
		why = fmt.Sprintf("Options.Service %q names no log-level document", service)
	}
	var keys []string
	for _, i := range t.levels {
		keys = append(keys, t.items[i].key)
	}
	slices.Sort(keys)
	// A getter must not wait for a log, which may be one that asks for a level itself.
	go c.options.Log.Warn("svc: no log level applies, and callers get their defaults: " + why + "; there are: " + cmp.Or(strings.Join(keys, ", "), "none"))
}

// Handler filters by the log level of one logger, and hands what passes on. It
// is a slog.Handler.
type Handler struct {
	client *Client
	next   slog.Handler
	logger string
	known  *atomic.Pointer[knownLevel]
}

// knownLevel is a level and what it was worked out from. As long as that is
// the same, so is the level.
type knownLevel struct {
	set   *contexts.Set
	table *table
	level *slog.Level
}

// Handler makes a handler for a logger, by its path such as com.acme.cart. The
// next handler should let everything through; where no log level is known it
// decides alone.
func (c *Client) Handler(next slog.Handler, logger string) *Handler {
	return &Handler{c, next, logger, new(atomic.Pointer[knownLevel])}
}

// Enabled reports whether the logger's level, in the scope of ctx, lets a record
// through.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	var least *slog.Level
	if k := h.known.Load(); k != nil && k.table == h.client.table.Load() && k.set == contexts.Merged(ctx, h.client.global.Current()) {
		least = k.level
	} else {
		var set *contexts.Set
		var from *table
		if least, set, from = h.client.level(ctx, h.logger); from != nil {
			h.known.Store(&knownLevel{set, from, least})
		}
	}
	return (least == nil || level >= *least) && h.next.Enabled(ctx, level)
}

// Handle passes a record on.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error { return h.next.Handle(ctx, r) }

// WithAttrs is slog.Handler's.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{h.client, h.next.WithAttrs(attrs), h.logger, h.known}
}

// WithGroup is slog.Handler's.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.client, h.next.WithGroup(name), h.logger, h.known}
}
