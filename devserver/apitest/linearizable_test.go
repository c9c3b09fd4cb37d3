package apitest

import (
	"testing"
	"time"
)

const clients = 16

// operations is how many requests each client sends.
func operations() int {
	if testing.Short() {
		return 16
	}
	return 36
}

// ground is what the clients find.
func ground() map[string]string {
	return map[string]string{
		"svc.json": `{"environments": ["development", "staging", {"name": "production", "protected": true}]}`,
		pathOf("flags", boolFlag): `{
  "key": "redesign", "type": "feature_flag", "valueType": "bool", "access": "standard", "tags": ["checkout"],
  "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]},
  "environments": [{"id": "production", "rules": [
    {"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["beta"]}}], "value": {"type": "bool", "value": true}},
    {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}],
  "variants": [{"value": {"type": "bool", "value": false}}, {"value": {"type": "bool", "value": true}}]}`,
		pathOf("flags", stringFlag): `{
  "key": "headline", "type": "feature_flag", "valueType": "string", "access": "standard", "tags": [],
  "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "red"}}]},
  "environments": [],
  "variants": [{"value": {"type": "string", "value": "blue"}}, {"value": {"type": "string", "value": "green"}}, {"value": {"type": "string", "value": "red"}}]}`,
		pathOf("configs", intConfig): `{
  "key": "timeout", "type": "config", "valueType": "int", "access": "standard", "tags": ["api"], "sendToClientSdk": true,
  "default": {"rules": [
    {"criteria": [{"operator": "PROP_ENDS_WITH_ONE_OF", "propertyName": "user.email", "valueToMatch": {"type": "string_list", "value": ["@acme.example"]}}], "value": {"type": "int", "value": 5}},
    {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "int", "value": 30}}]},
  "environments": [], "variants": []}`,
		pathOf("log-levels", serviceLogs): `{
  "key": "log-level.shop", "type": "log_level", "valueType": "log_level", "access": "standard", "tags": [],
  "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "log_level", "value": "INFO"}}]},
  "environments": []}`,
	}
}

func TestManyClientsSeeOneOrder(t *testing.T) {
	w := newWorkplace(t, ground(), clients)
	gitIn(t, w.repository())
	l := newLoad(t, within(t, w))
	l.run(background(t), seedOf(t), w.keys, operations())
	l.reportRich(t)
	l.judgeAll(t, w.repository()).demand(t)
	gitIn(t, w.repository()).sound(t)
}

const kills = 3

// TestManyClientsSeeOneOrderAcrossKills kills the server under the clients.
// Writes that it had not answered may have happened or not.
func TestManyClientsSeeOneOrderAcrossKills(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t, ground(), clients)
	gitIn(t, w.repository())
	port, seed := freePort(t), seedOf(t)
	p := launch(t, watched, w, port)
	l := newLoad(t, p.base)
	ctx := background(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.run(ctx, seed, w.keys, operations())
	}()
	r, total := dice(seed, clients), clients*operations()
	for n := 1; n <= kills; n++ {
		if !l.await(total*n/(kills+1)+r.IntN(total/16), ended) {
			t.Fatalf("the load ended before kill %d", n)
		}
		p.kill()
		p.log.quiet(t)
		p = launch(t, watched, w, port)
	}
	<-ended
	p.stop(t)
	p.log.quiet(t)
	l.reportRich(t)
	l.judgeAll(t, w.repository()).demand(t)
	gitIn(t, w.repository()).sound(t)
}

// await waits for so many answers.
func (l *load) await(answers int, ended chan struct{}) bool {
	for {
		l.mu.Lock()
		n := len(l.records)
		l.mu.Unlock()
		if n >= answers {
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(time.Millisecond):
		}
	}
}
