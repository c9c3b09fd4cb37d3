package apiload

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// client is one of those who work at a time. It remembers what it was told,
// so that it can send tokens that hold and tokens that do not.
type client struct {
	*Load
	number int
	key    string
	seed   uint64
	random *rand.Rand // of this operation
	step
	twin   *twins              // nil for a client that has its key to itself
	second bool                // of the two
	tokens map[string][]string // by item: commits, the latest last
	heads  []string            // commits of all items, the latest last
	texts  map[string][]string // by item: documents, the latest last
	sent   []*Operation        // under an Idempotency-Key, the latest last
}

// step is where a client is in its work.
type step struct {
	done  int // operations that were answered
	tries int // operations that were made up
}

// twins are two clients that share a key. Before each operation they meet, and
// go on from the same step with the same choices: as far as they know the same,
// they send the same request, byte for byte, in the same moment.
type twins struct {
	meeting chan step     // from the first to the second
	parted  chan struct{} // closed when one of them has ended
	once    sync.Once
}

func (c *client) meet(ctx context.Context) {
	meeting := c.twin.meeting
	if c.second {
		select {
		case c.step = <-meeting:
		case <-c.twin.parted:
		case <-ctx.Done():
		}
		return
	}
	select {
	case meeting <- c.step:
	case <-c.twin.parted:
	case <-ctx.Done():
	}
}

// part lets the other one of two go on alone.
func (c *client) part() {
	if c.twin != nil {
		c.twin.once.Do(func() { close(c.twin.parted) })
	}
}

var (
	Scopes  = []string{"default", "development", "staging", "production"}
	colours = []string{"blue", "green", "red"}
	levels  = []string{"DEBUG", "INFO", "WARN", "ERROR"}
	targets = []string{"", "", "com.acme.cart", "com.acme.payment", "org.shop"}
)

// freshEvery is how many operations a client sends before it goes on to the
// next new key.
const freshEvery = 6

func (c *client) run(ctx context.Context, operations int) {
	defer c.part()
	for (c.done < operations || !c.enough()) && ctx.Err() == nil {
		c.tries++
		who := c.number
		if c.twin != nil {
			who &^= 1
			c.meet(ctx)
		}
		c.random = Random(c.seed, who<<20+c.tries)
		o := c.choose(ctx)
		if o == nil {
			continue
		}
		if o.Writes() && o.Once == "" && c.random.IntN(2) == 0 {
			o.Once = fmt.Sprintf("%x", c.random.Uint64())
			c.sent = append(c.sent, o)
		}
		a := c.send(ctx, o)
		for range 2 { // as a script does that has lost an answer
			if a != nil && a.Open && o.Once != "" {
				a = cmp.Or(c.send(ctx, o), a)
			}
		}
		if a == nil {
			time.Sleep(time.Millisecond) // the server is being started
			continue
		}
		c.done++
	}
}

// send sends an operation; now and then the client soon loses patience.
func (c *client) send(ctx context.Context, o *Operation) *Answer {
	if o.Writes() && c.random.IntN(30) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.random.Int64N(int64(10*time.Millisecond))))
		defer cancel()
	}
	a := c.Load.send(ctx, c.number, c.key, o)
	if a != nil {
		item := o.Family + "/" + o.Key
		for _, commit := range []string{a.Previous, a.Commit} {
			if commit != "" {
				c.tokens[item] = append(c.tokens[item], commit)
				c.heads = append(c.heads, commit)
			}
		}
		if o.Kind == ReadDocument && a.Text != "" {
			c.texts[item] = append(c.texts[item], a.Text)
		}
	}
	return a
}

// choose makes up the next operation. A put begins with a read.
func (c *client) choose(ctx context.Context) *Operation {
	switch n := c.random.IntN(100); {
	case n < 4:
		return c.pinned(c.deletion())
	case n < 7:
		return c.restoration()
	case n < 10:
		return c.undoing()
	case n < 17:
		return c.again()
	case n < 30:
		return c.pinned(&Operation{Kind: Toggle, Family: "flags", Key: c.flag(), Scope: c.scope(), Enabled: c.random.IntN(2) == 0, Replace: c.random.IntN(8) == 0})
	case n < 33:
		return c.pinned(c.changes())
	case n < 37:
		return c.pinned(&Operation{Kind: Serve, Family: "flags", Key: stringFlag, Scope: c.scope(), Value: OneOf(c.random, colours...)})
	case n < 42:
		return c.pinned(&Operation{Kind: Serve, Family: "configs", Key: c.config(), Scope: c.scope(), Value: c.random.IntN(1000), Replace: c.random.IntN(8) == 0})
	case n < 46:
		return c.pinned(c.rollout())
	case n < 53:
		return c.pinned(c.level())
	case n < 68:
		return c.put(ctx)
	case n < 78:
		o := &Operation{Kind: Create, Family: OneOf(c.random, "flags", "configs"), Key: c.fresh(), Description: c.mark()}
		if o.Family == "configs" {
			o.Value = c.random.IntN(1000)
		} else if c.random.IntN(4) == 0 {
			o.Key = "log-level." + o.Key
		}
		return o
	case n < 84:
		return &Operation{Kind: ReadDocument, Family: "log-levels", Key: c.service()}
	case n < 89:
		return &Operation{Kind: ReadDocument, Family: "flags", Key: c.flag()}
	case n < 94:
		return OneOf(c.random, &Operation{Kind: ReadDetail, Family: "flags", Key: c.flag()}, &Operation{Kind: ReadDetail, Family: "configs", Key: c.config()})
	}
	return &Operation{Kind: ReadList, Family: OneOf(c.random, "flags", "configs", "log-levels")}
}

// item is one that comes and goes.
func (c *client) item() *Operation {
	o := &Operation{Family: OneOf(c.random, "flags", "configs", "log-levels"), Key: c.fresh()}
	if o.Family == "log-levels" {
		o.Key = "log-level." + o.Key
	}
	return o
}

func (c *client) deletion() *Operation {
	o := c.item()
	o.Kind = Delete
	return o
}

// changes are two toggles of a flag as one commit.
func (c *client) changes() *Operation {
	o := &Operation{Kind: Changes, Family: "flags", Key: c.flag(), Scope: c.scope(), Enabled: c.random.IntN(2) == 0}
	o.Also = &Operation{Family: o.Family, Key: o.Key, Enabled: c.random.IntN(2) == 0}
	for o.Also.Scope = c.scope(); o.Also.Scope == o.Scope; {
		o.Also.Scope = c.scope()
	}
	return o
}

// restoration brings back what the client has seen.
func (c *client) restoration() *Operation {
	o := c.item()
	seen := c.tokens[o.Family+"/"+o.Key]
	if len(seen) == 0 {
		return nil
	}
	o.Kind, o.Commit = Restore, OneOf(c.random, seen...)
	return o
}

// undoing takes back what the client has seen, as long as it stands.
func (c *client) undoing() *Operation {
	o := OneOf(c.random, c.item(), &Operation{Family: "flags", Key: boolFlag}, &Operation{Family: "configs", Key: IntConfig})
	seen := c.tokens[o.Family+"/"+o.Key]
	if len(seen) == 0 {
		return nil
	}
	o.Kind, o.Commit = Undo, seen[len(seen)-1]
	if c.random.IntN(4) == 0 {
		o.Commit = OneOf(c.random, seen...)
	}
	o.Token = o.Commit
	return o
}

// again is a request that the client has sent already, lately most of the time.
func (c *client) again() *Operation {
	if len(c.sent) == 0 {
		return nil
	}
	if c.random.IntN(3) == 0 {
		return OneOf(c.random, c.sent...)
	}
	return OneOf(c.random, c.sent[max(0, len(c.sent)-3):]...)
}

func (c *client) scope() string { return OneOf(c.random, Scopes...) }

// fresh is a key that is about to be created, or has just been.
func (c *client) fresh() string {
	return fmt.Sprint(OneOf(c.random, "fresh", "fresh", "Fresh", "FRESH"), "-", c.done/freshEvery+c.random.IntN(2))
}

func (c *client) flag() string {
	return OneOf(c.random, boolFlag, boolFlag, c.fresh())
}

func (c *client) config() string {
	return OneOf(c.random, IntConfig, IntConfig, c.fresh())
}

func (c *client) service() string {
	return OneOf(c.random, serviceLogs, serviceLogs, "log-level."+c.fresh())
}

func (c *client) rollout() *Operation {
	first := 1 + c.random.IntN(98)
	shares := []share{{"blue", first}, {"red", 100 - first}}
	if c.random.IntN(2) == 0 {
		shares = []share{{"blue", first}, {"green", 99 - first}, {"red", 1}}
	}
	return &Operation{Kind: Rollout, Family: "flags", Key: stringFlag, Scope: c.scope(), Rollout: shares}
}

// level sets a level. Only in the default rules and without a target does the
// contract say what it creates for a service that is new.
func (c *client) level() *Operation {
	o := &Operation{Kind: Level, Family: "log-levels", Key: c.service(), Scope: "default", Level: OneOf(c.random, levels...)}
	if o.Key == serviceLogs {
		o.Scope, o.Target = c.scope(), OneOf(c.random, targets...)
	}
	return o
}

// mark is a text that nobody else writes, but for a twin.
func (c *client) mark() string {
	return fmt.Sprintf("%s, %d", c.authors[c.number], c.random.Uint32())
}

// pinned gives an operation a token, sometimes: of late or of old.
func (c *client) pinned(o *Operation) *Operation {
	seen := c.tokens[o.Family+"/"+o.Key]
	if len(seen) == 0 {
		return o
	}
	switch c.random.IntN(8) {
	case 0:
		o.Token = seen[len(seen)-1]
	case 1: // of another item: good as long as nobody touched this one since
		o.Token = OneOf(c.random, c.heads[max(0, len(c.heads)-3):]...)
	case 2:
		o.Token = OneOf(c.random, seen...)
	case 3:
		if c.random.IntN(10) == 0 {
			o.Token = seen[len(seen)-1][:12]
		}
	}
	return o
}

// put reads a document and replaces it: by one with a mark, by one without an
// environment, by one of before, or by itself.
func (c *client) put(ctx context.Context) *Operation {
	o := &Operation{Kind: Put, Family: "flags", Key: c.flag()}
	switch c.random.IntN(4) {
	case 0:
		o.Key = stringFlag
	case 1:
		o.Family, o.Key = "configs", c.config()
	case 2:
		o.Family, o.Key = "log-levels", c.service()
	}
	a := c.send(ctx, &Operation{Kind: ReadDocument, Family: o.Family, Key: o.Key})
	if a == nil || a.Text == "" {
		return nil
	}
	item := o.Family + "/" + o.Key
	o.Token, o.Document = a.Commit, a.Text
	document := reading(a.Text)
	switch c.random.IntN(6) {
	case 0:
		o.Document = OneOf(c.random, c.texts[item]...)
	case 1:
	case 2:
		if entries := document["environments"].([]any); len(entries) > 0 {
			document["environments"] = entries[1:]
		}
		o.Document = Canonical(document)
	default:
		document["description"] = c.mark()
		o.Document = Canonical(document)
	}
	if c.random.IntN(4) == 0 {
		o.Token = OneOf(c.random, c.tokens[item]...)
	}
	return o
}
