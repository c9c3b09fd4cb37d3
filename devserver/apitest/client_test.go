package apitest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// client is one of those who work at a time. It remembers what it was told,
// so that it can send tokens that hold and tokens that do not.
type client struct {
	*load
	number int
	key    string
	dice   *rand.Rand
	done   int
	tokens map[string][]string // by item: commits, the latest last
	heads  []string            // commits of all items, the latest last
	texts  map[string][]string // by item: documents, the latest last
}

// The items that are there from the start. What the clients create is called
// fresh-0, fresh-1 and so on, in several spellings.
const (
	boolFlag    = "redesign"
	stringFlag  = "headline"
	intConfig   = "timeout"
	serviceLogs = "log-level.shop"
)

var (
	scopes  = []string{"default", "development", "staging", "production"}
	colours = []string{"blue", "green", "red"}
	levels  = []string{"DEBUG", "INFO", "WARN", "ERROR"}
	targets = []string{"", "", "com.acme.cart", "com.acme.payment", "org.shop"}
)

// freshEvery is how many operations a client sends before it goes on to the
// next new key.
const freshEvery = 6

func (c *client) run(ctx context.Context, operations int) {
	for c.done < operations && ctx.Err() == nil {
		o := c.choose(ctx)
		if o == nil {
			continue
		}
		if c.send(ctx, o) == nil {
			time.Sleep(time.Millisecond) // the server is being started
			continue
		}
		c.done++
	}
}

// send sends an operation; now and then the client soon loses patience.
func (c *client) send(ctx context.Context, o *operation) *answer {
	if o.writes() && c.dice.IntN(30) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.dice.Int64N(int64(10*time.Millisecond))))
		defer cancel()
	}
	a := c.load.send(ctx, c.number, c.key, o)
	if a != nil {
		c.remember(o, a)
	}
	return a
}

func (c *client) remember(o *operation, a *answer) {
	item := o.family + "/" + o.key
	for _, commit := range []string{a.previous, a.commit} {
		if commit != "" {
			c.tokens[item] = append(c.tokens[item], commit)
			c.heads = append(c.heads, commit)
		}
	}
	if o.kind == readDocument && a.text != "" {
		c.texts[item] = append(c.texts[item], a.text)
	}
}

// choose makes up the next operation. A put begins with a read.
func (c *client) choose(ctx context.Context) *operation {
	switch n := c.dice.IntN(100); {
	case n < 22:
		return c.pinned(&operation{kind: toggle, family: "flags", key: c.flag(), scope: c.scope(), enabled: c.dice.IntN(2) == 0, replace: c.dice.IntN(8) == 0})
	case n < 28:
		return c.pinned(&operation{kind: serve, family: "flags", key: stringFlag, scope: c.scope(), value: oneOf(c.dice, colours...)})
	case n < 36:
		return c.pinned(&operation{kind: serve, family: "configs", key: c.config(), scope: c.scope(), value: c.dice.IntN(1000), replace: c.dice.IntN(8) == 0})
	case n < 44:
		return c.pinned(c.rollout())
	case n < 52:
		return c.pinned(c.level())
	case n < 68:
		return c.put(ctx)
	case n < 78:
		return c.create()
	case n < 84:
		return &operation{kind: readDocument, family: "log-levels", key: c.service()}
	case n < 89:
		return &operation{kind: readDocument, family: "flags", key: c.flag()}
	case n < 94:
		return oneOf(c.dice, &operation{kind: readDetail, family: "flags", key: c.flag()}, &operation{kind: readDetail, family: "configs", key: c.config()})
	}
	return &operation{kind: readList, family: oneOf(c.dice, "flags", "configs", "log-levels")}
}

func (c *client) scope() string { return oneOf(c.dice, scopes...) }

// fresh is a key that is about to be created, or has just been.
func (c *client) fresh() string {
	return fmt.Sprint(oneOf(c.dice, "fresh", "fresh", "Fresh", "FRESH"), "-", c.done/freshEvery+c.dice.IntN(2))
}

func (c *client) flag() string {
	return oneOf(c.dice, boolFlag, boolFlag, c.fresh())
}

func (c *client) config() string {
	return oneOf(c.dice, intConfig, intConfig, c.fresh())
}

func (c *client) service() string {
	return oneOf(c.dice, serviceLogs, serviceLogs, "log-level."+c.fresh())
}

func (c *client) rollout() *operation {
	first := 1 + c.dice.IntN(98)
	shares := []share{{"blue", first}, {"red", 100 - first}}
	if c.dice.IntN(2) == 0 {
		shares = []share{{"blue", first}, {"green", 99 - first}, {"red", 1}}
	}
	return &operation{kind: rollout, family: "flags", key: stringFlag, scope: c.scope(), rollout: shares}
}

// level sets a level. Only in the default rules and without a target does the
// contract say what it creates for a service that is new.
func (c *client) level() *operation {
	o := &operation{kind: level, family: "log-levels", key: c.service(), scope: "default", level: oneOf(c.dice, levels...)}
	if o.key == serviceLogs {
		o.scope, o.target = c.scope(), oneOf(c.dice, targets...)
	}
	return o
}

func (c *client) create() *operation {
	o := &operation{kind: create, family: oneOf(c.dice, "flags", "configs"), key: c.fresh(), description: c.mark()}
	if o.family == "configs" {
		o.value = c.dice.IntN(1000)
	} else if c.dice.IntN(4) == 0 {
		o.key = "log-level." + o.key
	}
	return o
}

// mark is a text that nobody else writes.
func (c *client) mark() string {
	return fmt.Sprintf("client %d, %d", c.number, c.dice.Uint32())
}

// pinned gives an operation a token, sometimes: of late or of old.
func (c *client) pinned(o *operation) *operation {
	seen := c.tokens[o.family+"/"+o.key]
	if len(seen) == 0 {
		return o
	}
	switch c.dice.IntN(8) {
	case 0:
		o.token = seen[len(seen)-1]
	case 1: // of another item: good as long as nobody touched this one since
		o.token = oneOf(c.dice, c.heads[max(0, len(c.heads)-3):]...)
	case 2:
		o.token = oneOf(c.dice, seen...)
	case 3:
		if c.dice.IntN(10) == 0 {
			o.token = seen[len(seen)-1][:12]
		}
	}
	return o
}

// put reads a document and replaces it: by one with a mark, by one without an
// environment, by one of before, or by itself.
func (c *client) put(ctx context.Context) *operation {
	o := &operation{kind: put, family: "flags", key: c.flag()}
	switch c.dice.IntN(4) {
	case 0:
		o.key = stringFlag
	case 1:
		o.family, o.key = "configs", c.config()
	case 2:
		o.family, o.key = "log-levels", c.service()
	}
	a := c.send(ctx, &operation{kind: readDocument, family: o.family, key: o.key})
	if a == nil || a.text == "" {
		return nil
	}
	item := o.family + "/" + o.key
	o.token, o.document = a.commit, a.text
	document := reading(a.text)
	switch c.dice.IntN(6) {
	case 0:
		o.document = oneOf(c.dice, c.texts[item]...)
	case 1:
	case 2:
		if entries := document["environments"].([]any); len(entries) > 0 {
			document["environments"] = entries[1:]
		}
		o.document = canonical(document)
	default:
		document["description"] = c.mark()
		o.document = canonical(document)
	}
	if c.dice.IntN(4) == 0 {
		o.token = oneOf(c.dice, c.tokens[item]...)
	}
	return o
}
