package relay

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/testenv"
)

// TestAPageThatHeardFromAnotherRelay gets what that one has told of, though this one has
// not asked for it yet: there may be no other event for long.
func TestAPageThatHeardFromAnotherRelay(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	w := newWorld(t, shop)
	w.withoutStreams()
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	relays := []*relayed{w.relay(Options{Keys: []string{secret}}), w.relay(Options{Keys: []string{secret}})}
	var events []<-chan string
	for _, r := range relays {
		w.must(r.Await(t.Context()))
		events = append(events, w.stream(r.Server, w.eventsOf(r.Server, public), ""))
	}
	for i := range 4 {
		w.patch("flags/timed/environments/production", fmt.Sprintf(`{"value":%d}`, 100+i))
		first, event := 0, ""
		select {
		case event = <-events[0]:
		case event = <-events[1]:
			first = 1
		}
		version := strings.Fields(event)[0]
		path := "/ofrep/v1/evaluate/flags?flagConfigEtag=" + url.QueryEscape(`"`+version+`"`) + "&flagConfigLastModified=1"
		for { // on a busy machine the service may need longer than a client is kept waiting
			begin := time.Now()
			got := w.ask(relays[1-first].Server, "POST", path, public, "{}")
			if strings.Contains(got.body, fmt.Sprintf(`"value":%d`, 100+i)) {
				break
			}
			if time.Since(begin) < behindTime {
				t.Errorf("write %d: the other relay answers %.300s", i, got.body)
				break
			}
		}
		<-events[1-first]
	}
	// What nobody has told costs the service little.
	before, begin := w.times("/api/v2/configs"), time.Now()
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			if got := w.ask(relays[0].Server, "POST", fmt.Sprintf("/ofrep/v1/evaluate/flags?flagConfigEtag=%d", i), public, "{}"); got.status != 200 {
				t.Errorf("%s", got)
			}
		})
	}
	all.Wait()
	if asked := w.times("/api/v2/configs") - before; asked > 20+int64(time.Since(begin)/lookPause) {
		t.Errorf("60 pages with made-up versions had the service asked %d times", asked)
	}
}
