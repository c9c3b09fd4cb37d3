package relay

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/upstream"
)

const (
	goodFor    = time.Minute
	refreshAt  = 45 * time.Second // a key in use is asked about again before it has to wait
	refusedFor = 10 * time.Second
	awayFor    = time.Second // the service is not asked again
	askTime    = 5 * time.Second

	// asksAtOnce bounds what strangers cost the service, beside the limit of each
	// address.
	asksAtOnce = 16

	maxKept         = 10_000 // keys that are remembered, and as many tokens and refusals
	rememberedBytes = 512    // about
)

var anonymous = ratelimit.Rate{PerSecond: 10, Burst: 100}

// known is what was found of a key, or of a token that stands for one, when it was asked
// about last.
type known struct {
	record      access.KeyRecord // of a token: without the digest
	environment *environment     // nil of one from the cache, until it is asked about
	refusal     error
	checked     time.Time
}

// keys are those of the relay's clients.
type keys struct {
	relay     *Relay
	now       func() time.Time
	frontend  *[sha256.Size]byte // of the key that all browsers have; nil for none
	anonymous *ratelimit.Buckets
	asks      chan struct{}
	asking    singleflight.Group        // by the text's sum
	away      atomic.Pointer[time.Time] // when the service was last found not to answer; nil while it does

	good    *lru.Cache[[sha256.Size]byte, known] // by the text's sum, of keys by that of the id too
	refused *lru.Cache[[sha256.Size]byte, known] // by the text's sum, for others make no room for good ones
	changed atomic.Bool                          // there are keys that the cache does not have
}

func newKeys(r *Relay, frontend string) *keys {
	k := &keys{
		relay: r, now: time.Now, anonymous: ratelimit.NewBuckets(anonymous, time.Now), asks: make(chan struct{}, asksAtOnce),
		good:    lru.New[[sha256.Size]byte, known](3 * maxKept * rememberedBytes),
		refused: lru.New[[sha256.Size]byte, known](maxKept * rememberedBytes),
	}
	if frontend != "" {
		sum := sha256.Sum256([]byte(frontend))
		k.frontend = &sum
	}
	return k
}

// within reports whether something was less than a while ago. What is to come, as the
// clock was set back since, was not: or a key would be good for longer.
func (k *keys) within(at time.Time, while time.Duration) bool {
	age := k.now().Sub(at)
	return age >= 0 && age < while
}

// byID is the sum of a key's id, which no text has.
func byID(id access.ID) [sha256.Size]byte { return sha256.Sum256([]byte("id " + id)) }

// credential is what a client shows, and how it is asked about.
type credential struct {
	sum     [sha256.Size]byte
	id      access.ID
	address netip.Addr
	ask     func(ctx context.Context) (upstream.Reply, error)
	key     *access.Key // nil of a token
	// proves reports whether a record is of this credential.
	proves func(access.KeyRecord) bool
}

var (
	errNotAccepted = fault.New(fault.Unauthorized, "the key is not accepted: it is unknown, revoked or expired, or its owner is disabled")
	errOwnKey      = errors.New("the service does not take this relay's own key any more, and so does not tell what tokens stand for")
	errTooOld      = errors.New("the service does not tell what the keys of clients read (GET /api/v2/key): it is a relay itself, or of an older version than this one; with --frontend-sdk-key it need not be asked")
)

// find finds what a key reads, if an endpoint takes it.
func (k *keys) find(address netip.Addr, text string, e endpoints.Endpoint) (*environment, error) {
	sum := sha256.Sum256([]byte(text))
	if k.frontend != nil && e.Keys != endpoints.SecretSDK && subtle.ConstantTimeCompare(sum[:], k.frontend[:]) == 1 {
		return k.relay.environments[0], nil
	}
	if k.frontend != nil && e.Keys == endpoints.PublicSDK {
		return nil, fault.New(fault.Unauthorized, "this relay was started with --frontend-sdk-key: send that key as Authorization: Basic base64(1:<key>)")
	}
	key, err := sdkapi.ReadKey(e, text)
	if err != nil {
		return nil, err
	}
	own := false
	for _, of := range k.relay.environments {
		own = own || of.key.Workspace() == key.Workspace()
		if of.key.ID() == key.ID() && key.Matches(of.key.Digest()) && key.Kind() == of.key.Kind() {
			if of.refused.Load() {
				return nil, errNotAccepted
			}
			return of, nil
		}
	}
	if !own {
		return nil, errNotAccepted
	}
	found, err := k.check(credential{
		sum: sum, id: key.ID(), address: address, key: &key,
		proves: func(r access.KeyRecord) bool { return r.Admits(key, time.Time{}) == nil },
		ask: func(ctx context.Context) (upstream.Reply, error) {
			return k.relay.environments[0].follower.Connection.For(text).Do(ctx, http.MethodGet, endpoints.DescribeKey.Path, nil, nil)
		},
	})
	return found.environment, err
}

// findToken is find for a token that stands for a public key.
func (k *keys) findToken(address netip.Addr, text string) (*environment, error) {
	if k.frontend != nil {
		e := k.relay.environments[0]
		if name := e.name(); name != "" && !hmac.Equal([]byte(text), []byte(k.frontendToken(name))) {
			return nil, fault.New(fault.Unauthorized, "this relay was started with --frontend-sdk-key: the address of its event stream, with a token, is in what POST %s answers to that key", endpoints.EvaluateFlags.Path)
		}
		_, err := e.serve()
		return e, err
	}
	token, err := access.ParseToken(text)
	if err != nil {
		return nil, fault.New(fault.Unauthorized, "%v", err)
	}
	found, err := k.check(credential{
		sum: sha256.Sum256([]byte(text)), id: token.ID(), address: address,
		proves: func(r access.KeyRecord) bool { return r.AdmitsToken(token, time.Time{}) == nil },
		ask:    func(ctx context.Context) (upstream.Reply, error) { return k.askToken(ctx, text) },
	})
	if err == nil && found.record.Kind != access.KindPublicSDK {
		return nil, errNotAccepted
	}
	return found.environment, err
}

// askToken asks with a key of each workspace: a token does not tell its own.
func (k *keys) askToken(ctx context.Context, text string) (reply upstream.Reply, err error) {
	taken := map[access.ID]bool{} // by workspace: whether the service takes a key of it
	for _, e := range k.relay.environments {
		if taken[e.key.Workspace()] {
			continue
		}
		reply, err = e.follower.Connection.Do(ctx, http.MethodGet, endpoints.DescribeKey.Path+"?token="+url.QueryEscape(text), nil, nil)
		if err != nil || reply.Status != http.StatusUnauthorized {
			return reply, err
		}
		// It may be this relay's own key that is refused.
		own, err := e.follower.Connection.Do(ctx, http.MethodGet, endpoints.DescribeKey.Path, nil, nil)
		if err != nil {
			return own, err
		}
		if gone := own.Status == http.StatusUnauthorized && own.Code() == sdkapi.EnvironmentGone; !gone {
			taken[e.key.Workspace()] = own.Status != http.StatusUnauthorized
		}
	}
	for _, one := range taken {
		if !one {
			return reply, errOwnKey
		}
	}
	return reply, nil
}

func (k *keys) frontendToken(environment string) string {
	return access.TokenOf("frontend", access.Digest(*k.frontend), environment).String()
}

// check says what a credential reads, from memory while that is fresh.
func (k *keys) check(c credential) (known, error) {
	found, good := k.good.Get(c.sum)
	if !good {
		if found, good = k.good.Get(byID(c.id)); good && !c.proves(found.record) {
			good = false
		}
	}
	switch {
	case good && k.within(found.checked, refreshAt):
		return found, nil
	case good && (k.within(found.checked, goodFor) || k.away.Load() != nil && found.environment != nil):
		k.ask(c, found) // for those who come later: while the service is away nobody waits for it whose key was good
		return found, nil
	case !good:
		found = known{}
		if refused, there := k.refused.Get(c.sum); there && k.within(refused.checked, refusedFor) {
			return known{}, refused.refusal
		}
		if wait := k.anonymous.Take(ratelimit.KeyID("", c.address)); wait > 0 {
			return known{}, fault.New(fault.RateLimited, "too many requests from this address that carry no key seen to be good here").After(wait)
		}
	}
	answer := <-k.ask(c, found) // which takes no longer than askTime
	return answer.Val.(known), answer.Err
}

// ask asks about a credential, once for all who wait for the answer. Before is what
// was known of it, of no key for nothing: it stays good while the service is away.
func (k *keys) ask(c credential, before known) <-chan singleflight.Result {
	return k.asking.DoChan(string(c.sum[:]), func() (any, error) {
		// Somebody else may have asked since this one looked.
		if now, there := k.good.Get(c.sum); there && !now.checked.Equal(before.checked) {
			return now, nil
		}
		if refused, there := k.refused.Get(c.sum); there && k.within(refused.checked, refusedFor) {
			return known{}, refused.refusal
		}
		return k.answer(c, before)
	})
}

// answer asks, and remembers what came of it.
func (k *keys) answer(c credential, before known) (now known, err error) {
	now.record, err = k.put(c)
	now.checked = k.now()
	if err != nil && before.record.ID != "" && fault.Of(err).Kind != fault.Unauthorized {
		now, err = before, nil
	}
	if err == nil {
		now.environment, err = k.relay.environmentOf(now.record)
	}
	switch {
	case err == nil:
		k.good.Put(c.sum, now, rememberedBytes)
		if c.key != nil {
			k.good.Put(byID(c.id), now, rememberedBytes)
			k.changed.Store(k.changed.Load() || before.record.ID == "")
		}
	case fault.Of(err).Kind == fault.Unauthorized:
		k.refused.Put(c.sum, known{refusal: err, checked: k.now()}, rememberedBytes)
		k.good.Delete(c.sum)
		if before.record.ID != "" {
			k.good.Delete(byID(c.id))
			k.changed.Store(true)
		}
	}
	return now, err
}

// put puts the question to the service. Its error is a fault, of the kind Unavailable
// when the service is away.
func (k *keys) put(c credential) (access.KeyRecord, error) {
	unavailable := fault.New(fault.Unavailable, "whether the key is good is not known: the service behind this relay does not answer").After(awayFor)
	if away := k.away.Load(); away != nil && k.within(*away, awayFor) {
		return access.KeyRecord{}, unavailable
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	select {
	case k.asks <- struct{}{}:
		defer func() { <-k.asks }()
	case <-ctx.Done():
		return access.KeyRecord{}, unavailable
	}
	reply, err := c.ask(ctx)
	if err == nil && (reply.Status == http.StatusOK || reply.Status == http.StatusUnauthorized) {
		k.away.Store(nil)
	}
	var told sdkapi.KeyDescription
	switch {
	case err == errOwnKey: // the service is there, for others
		return access.KeyRecord{}, unavailable.Because(err)
	case err == nil && reply.Status == http.StatusUnauthorized:
		return access.KeyRecord{}, errNotAccepted
	case err == nil && reply.Status == http.StatusNotFound:
		err = errTooOld
		k.relay.options.Logger.Error("the keys of clients cannot be checked", "error", err)
	case err == nil && reply.Status == http.StatusOK:
		err = json.Unmarshal(reply.Body, &told)
	case err == nil:
		err = errors.New(http.StatusText(reply.Status))
	}
	if err == nil && (told.Environment == "" || c.key != nil && (told.ID != c.key.ID() || told.Kind != c.key.Kind() || told.WorkspaceID != c.key.Workspace())) {
		err = errors.New("the answer is of another key")
	}
	if err != nil {
		now := k.now()
		k.away.Store(&now)
		return access.KeyRecord{}, unavailable.Because(err)
	}
	record := access.KeyRecord{ID: told.ID, Kind: told.Kind, WorkspaceID: told.WorkspaceID, Environment: told.Environment}
	if c.key != nil {
		record.PrincipalID, record.Digest = c.key.Principal(), c.key.Digest()
	}
	return record, nil
}

// all are the records of the keys that were good, the ones used last first.
func (k *keys) all() []access.KeyRecord {
	var records []access.KeyRecord
	listed := map[access.ID]bool{}
	for _, found := range k.good.Values() {
		if id := found.record.ID; !listed[id] && found.record.Digest != (access.Digest{}) {
			listed[id] = true
			records = append(records, found.record)
		}
	}
	return records
}
