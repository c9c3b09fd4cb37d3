package httpapi

import (
	"context"
)

// keptAnswer says what an answer was given to. Whoever may read a workspace reads
// the same of it.
type keptAnswer struct {
	view      uint64
	evaluated uint64 // the version of what lists say of evaluations
	turn      int    // which times have come, of what they say
	target    string // path and query
}

// maxTarget is how long the path and the query of a request may be whose answer is
// kept. What the API has is shorter; the rest is made up.
const maxTarget = 500

// kept gives the answer again that was given to the same question at the same head:
// encoded, and compressed where somebody asked for that.
func kept(work handler) handler { return keptWith(work, false) }

// keptWith is kept of answers that may tell when items were evaluated last: by the day,
// so that they stay the same for long.
func keptWith(work handler, evaluations bool) handler {
	return func(ctx context.Context, c *call) (any, error) {
		if evaluations {
			c.session.ReadEvaluated(ctx)
		}
		if c.kept == nil || len(c.request.URL.RawQuery)+len(c.request.URL.Path) > maxTarget {
			return work(ctx, c)
		}
		_, past := c.query["at"]
		if _, today := c.query["stale"]; past || today {
			return work(ctx, c)
		}
		opened, err := c.session.Open(ctx)
		if err != nil {
			return nil, err
		}
		question := keptAnswer{view: opened.View.Number(), target: c.request.URL.EscapedPath() + "?" + c.request.URL.RawQuery}
		if evaluations {
			question.evaluated, question.turn = c.session.EvaluatedVersion(ctx), c.session.Turn(opened)
		}
		if p, found := c.kept.Get(question); found {
			return p, nil
		}
		result, err := work(ctx, c)
		if err != nil {
			return nil, err
		}
		if told, is := result.(interface{ Turns() bool }); is && told.Turns() {
			return result, nil // another one in a moment
		}
		p, err := pageOf(result)
		if err != nil {
			return nil, err
		}
		// Twice as many bytes for its gzip form, and what keeps it.
		_, size := p.Identity()
		if bytes := int64(2*size + len(question.target) + 512); bytes <= c.options.KeptAnswers/4 {
			c.kept.Put(question, p, bytes)
		}
		return p, nil
	}
}
