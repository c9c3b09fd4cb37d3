package browsertest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/client"
	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/testing/must"
)

// percents are the steps of the plan.
var percents = []int{1, 10, 50, 100}

// planned is a flag that nobody gets yet.
const planned = `{"key": "planned", "type": "feature_flag", "valueType": "bool", "default": {"rules": [
	{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}}`

// change is of what somebody gets.
type change struct {
	On bool    `json:"on"`
	At float64 `json:"at"` // in milliseconds since 1970
}

// followed is what one client has seen, by the people.
type followed struct {
	sync.Mutex
	seen map[string][]change
}

func (f *followed) look(person string, on bool) {
	f.Lock()
	defer f.Unlock()
	if list := f.seen[person]; on != (len(list) > 0 && list[len(list)-1].On) {
		f.seen[person] = append(list, change{on, float64(time.Now().UnixMicro()) / 1000})
	}
}

// A rollout plan of four steps is followed at the moment by a page, a Go program and a Python
// program, at a service and at relays whose service is gone since the plan was made, and nobody
// who is in goes out. SVC_TEST_STEP is the time between two steps, such as 1m: then each is there
// within two seconds. Else, beside other tests, a step is there before the next one.
func TestClientsFollowARolloutPlan(t *testing.T) {
	between := 5 * time.Second
	most := between
	if text := os.Getenv("SVC_TEST_STEP"); text != "" {
		between, most = must.Get(time.ParseDuration(text))(t), 2*time.Second
	}
	page := openTab(t, bundleSite(t, testdata(t, "plan.js")).origin("localhost"))
	people := peopleOfSteps(t)
	dir := t.TempDir()
	write(t, dir, "svc.json", `{"environments": ["development"]}`)
	write(t, dir, "feature-flags/planned.json", planned)
	stays, goes := serveWorkspace(t, dir), serveWorkspace(t, dir)
	relay := goes.relay(t)

	type follower struct {
		name string
		*followed
	}
	var all []follower
	var running, begun sync.WaitGroup
	stop := make(chan struct{})
	poll := func(name string, every time.Duration, on func(person string) bool) {
		f := &followed{seen: map[string][]change{}}
		all = append(all, follower{name, f})
		begun.Add(1)
		running.Go(func() {
			for round := 0; ; round++ {
				for _, person := range people {
					f.look(person, on(person))
				}
				if round == 0 {
					begun.Done()
				}
				select {
				case <-stop:
					return
				case <-time.After(every):
				}
			}
		})
	}
	places := []struct {
		name, base string
		of         *workspace
	}{{"the service", stays.base, stays}, {"a relay alone", relay, goes}}
	for _, place := range places {
		call[any](t, page, `(name, options, flag, people) => follow(name, options, flag, people)`, place.name, place.of.options(t, place.base), "planned", people)
		local := must.Get(client.Open(t.Context(), client.Options{URL: place.base, Key: place.of.applicationKey(t, "secret", "development")}))(t)
		t.Cleanup(func() { local.Close() })
		poll("Go, "+place.name, 5*time.Millisecond, func(person string) bool {
			return local.Bool(contexts.With(t.Context(), contexts.Named("user", map[string]any{"key": person})), "planned", false)
		})
		app := startAppFor(t, python(t), 10*between+patience)
		options := map[string]any{"baseUrl": place.base, "headers": map[string]string{"X-API-Key": place.of.applicationKey(t, "public", "development")}}
		poll("Python, "+place.name, 200*time.Millisecond, func(person string) bool {
			r := serverRequest{options, map[string]any{"targetingKey": person, "user.key": person}, []question{{"boolean", "planned", false}}}
			options = nil
			answer := app.ask(t, r)[0]
			if answer.ErrorCode != "" { // and the value is the default: that is nobody who went out
				t.Errorf("Python, %s: %s %s", place.name, answer.ErrorCode, answer.ErrorMessage)
			}
			return answer.Value == true
		})
	}

	begun.Wait() // a relay that is alone knows the keys that it was asked with before

	first := time.Now().Add(between + 2*time.Second).Truncate(time.Second)
	var steps []string
	for i, percent := range percents {
		steps = append(steps, fmt.Sprintf("%d%%@%s", percent, first.Add(time.Duration(i)*between).UTC().Format(time.RFC3339)))
	}
	for _, w := range []*workspace{stays, goes} {
		key := filepath.Join(t.TempDir(), "key")
		must.Do(t, os.WriteFile(key, []byte(w.key(t, "Ada", "protected_engineer")), 0o600))
		svc(t, "rollout", "start", "development", "planned", "--steps", strings.Join(steps, ","), "--url", w.base+"/v1", "--key-file", key)
	}
	ask := must.Get(http.NewRequest("GET", relay+"/api/v2/configs", nil))(t)
	ask.SetBasicAuth("1", goes.applicationKey(t, "secret", "development"))
	eventually(t, "the relay has the plan", func() (any, bool) {
		answer := must.Get(http.DefaultClient.Do(ask))(t)
		defer answer.Body.Close()
		text := must.Get(io.ReadAll(answer.Body))(t)
		return string(text), strings.Contains(string(text), "PROP_AFTER")
	})
	goes.halt()
	time.Sleep(time.Until(first.Add(time.Duration(len(percents)-1)*between + min(between, 5*time.Second))))
	close(stop)
	running.Wait()

	for _, place := range places {
		f := &followed{seen: map[string][]change{}}
		for name, list := range call[map[string][]change](t, page, `() => seen()`) {
			if person, of := strings.CutPrefix(name, place.name+" "); of {
				f.seen[person] = list
			}
		}
		all = append(all, follower{"page, " + place.name, f})
	}
	slices.SortFunc(all, func(a, b follower) int { return strings.Compare(a.name, b.name) })
	for _, f := range all {
		line := f.name + ":"
		for i, person := range people {
			list := f.seen[person]
			if len(list) != 1 || !list[0].On {
				t.Errorf("%s: who is in with %d %% saw %v", f.name, percents[i], list)
				continue
			}
			late := list[0].At - float64(first.Add(time.Duration(i)*between).UnixMilli())
			line += fmt.Sprintf(" %d %% after %.0f ms", percents[i], late)
			if late < -100 || late > float64(most.Milliseconds()) { // a page's clock is not quite the system's
				t.Errorf("%s: %d %% came after %.0f ms", f.name, percents[i], late)
			}
		}
		t.Log(line)
	}
}

// peopleOfSteps are keys of people, one who comes in with each step.
func peopleOfSteps(t *testing.T) (people []string) {
	t.Helper()
	var clients []*client.Client
	dir := t.TempDir()
	var environments, entries []string
	for _, percent := range percents {
		name := fmt.Sprintf("p%d", percent)
		environments = append(environments, `"`+name+`"`)
		entries = append(entries, fmt.Sprintf(`{"id": %q, "rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "weighted_values", "value": {
			"hashByPropertyName": "user.key", "weightedValues": [{"weight": %d, "value": {"type": "bool", "value": true}}, {"weight": %d, "value": {"type": "bool", "value": false}}]}}}]}`, name, percent, 100-percent))
	}
	write(t, dir, "svc.json", `{"environments": [`+strings.Join(environments, ",")+`]}`)
	write(t, dir, "feature-flags/planned.json", strings.TrimSuffix(planned, "}")+`, "environments": [`+strings.Join(entries, ",")+`]}`)
	for _, name := range environments {
		c := must.Get(client.Open(t.Context(), client.Options{Datadir: dir, Environment: strings.Trim(name, `"`)}))(t)
		t.Cleanup(func() { c.Close() })
		clients = append(clients, c)
	}
	people = make([]string, len(percents))
	for n := 0; slices.Contains(people, ""); n++ {
		person := fmt.Sprintf("user-%d", n)
		ctx := contexts.With(t.Context(), contexts.Named("user", map[string]any{"key": person}))
		for i, c := range clients {
			if c.Bool(ctx, "planned", false) {
				if people[i] == "" {
					people[i] = person
				}
				break
			}
		}
	}
	return people
}
