package telemetry

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"svc.example/svc/shared/jsontree"
)

// What is kept of evaluations.
const (
	// EvaluationDays is how many days the counts of a day are kept.
	EvaluationDays = 60
	// MaxValues is how many values of an item have a count of their own on a day in
	// an environment: those that came first. Others count in the total alone.
	MaxValues = 20
	// MaxValueText is how many bytes a value has, as JSON, that has a count of its own.
	MaxValueText = 1000
	// MaxCount is the most that one counter of a report counts for.
	MaxCount = 1_000_000_000
	// MaxTotal is where counts end: what any reader of JSON takes for the same number.
	MaxTotal = 1<<53 - 1
	// MaxEvaluated is how many items it is known of when they were evaluated last. It
	// is the newest.
	MaxEvaluated = 20_000
	// EvaluationsLate is how far behind a store's counts may be, by the time of a
	// later batch. What a store has not counted on a day yet, it counts at once.
	EvaluationsLate = time.Minute
	// maxEarlier is how long before it arrives an evaluation counts on its own day;
	// an earlier one counts so long before.
	maxEarlier = 24 * time.Hour
)

// Counter is how often an application was served a value of an item.
type Counter struct {
	Key   string
	Value *jsontree.Node // as it was sent, plain or wrapped; nil for none
	Count int64          // 1 to MaxCount
	End   time.Time      // of what was summed up; zero when the body does not say
	Event int            // which of the body's it was in
}

// Items says of an item and a value that was reported of it what is counted: nothing
// where the item is not known, and the value as JSON, "" where it is counted in the
// total alone.
type Items func(key string, value *jsontree.Node) (text string, known bool)

// Evaluation is how often an item has served a value.
type Evaluation struct {
	Environment, Key string
	Value            string // as JSON; "" counts in the total alone
	At               time.Time
	Count            int64
}

// Day is a UTC day of evaluations, such as 2026-11-23.
type Day string

// DayOf is the day of a time.
func DayOf(t time.Time) Day { return Day(t.UTC().Format(time.DateOnly)) }

// Begin is the first moment of the day.
func (d Day) Begin() time.Time {
	begin, _ := time.Parse(time.DateOnly, string(d)) // it is written by DayOf
	return begin
}

// Tally is the evaluations of an item on a day in an environment.
type Tally struct {
	Total  int64            `json:"n"`
	Last   int64            `json:"at"`          // in milliseconds since 1970
	Values map[string]int64 `json:"v,omitempty"` // by their JSON
}

// Add counts evaluations.
func (t *Tally) Add(e Evaluation) {
	more := Tally{Total: e.Count, Last: e.At.UnixMilli()}
	if e.Value != "" {
		more.Values = map[string]int64{e.Value: e.Count}
	}
	t.Join(more)
}

// Join adds what another has counted.
func (t *Tally) Join(other Tally) {
	t.Total, t.Last = plus(t.Total, other.Total), max(t.Last, other.Last)
	for _, value := range slices.Sorted(maps.Keys(other.Values)) {
		n, known := t.Values[value]
		if !known && len(t.Values) >= MaxValues {
			continue
		}
		if t.Values == nil {
			t.Values = map[string]int64{}
		}
		t.Values[value] = plus(n, other.Values[value])
	}
}

// plus adds counts as far as they go.
func plus(a, b int64) int64 { return min(a, MaxTotal) + min(b, MaxTotal-min(a, MaxTotal)) }

// EvaluatedDay is the evaluations of a day.
type EvaluatedDay struct {
	Day Day
	Tally
}

// Evaluated is when items were evaluated last. It does not change.
type Evaluated struct {
	// Version is another one for whatever says something else, in this process.
	Version uint64
	// Since is the first day on which anything was counted; "" for none yet.
	Since Day
	Days  map[string]Day // by key
}

var evaluatedVersions atomic.Uint64

// Renew gives what was read again a version of its own.
func (e *Evaluated) Renew() { e.Version = evaluatedVersions.Add(1) }

// See notes on which days items were evaluated, and reports whether that was news. It
// forgets the items beyond MaxEvaluated that were evaluated longest ago.
func (e *Evaluated) See(evaluations []Evaluation) (news bool) {
	if e.Days == nil {
		e.Days = map[string]Day{}
	}
	for _, one := range evaluations {
		day := DayOf(one.At)
		if e.Since == "" || day < e.Since {
			e.Since, news = day, true
		}
		if e.Days[one.Key] < day {
			e.Days[one.Key], news = day, true
		}
	}
	if len(e.Days) > MaxEvaluated {
		oldest := slices.SortedFunc(maps.Keys(e.Days), func(a, b string) int {
			return cmp.Or(strings.Compare(string(e.Days[a]), string(e.Days[b])), strings.Compare(a, b))
		})
		for _, key := range oldest[:len(oldest)-MaxEvaluated] {
			delete(e.Days, key)
		}
	}
	return news
}

// reports are what a body says that is counted: its own, and that of the reports of others
// that a relay passes on.
func (m *batcher) reports(ctx context.Context, report Report, from Source) (own []Evaluation, others []Reported, err error) {
	if len(report.Counters) == 0 || from.Items == nil {
		return nil, nil, nil
	}
	items, err := from.Items(ctx)
	if err != nil {
		return nil, nil, err
	}
	var order [][32]byte
	counters := map[[32]byte][]Counter{}
	for _, c := range report.Counters {
		var id [32]byte
		if from.Secret && c.Event < len(report.Reports) {
			id = report.Reports[c.Event]
		}
		if counters[id] == nil {
			order = append(order, id)
		}
		counters[id] = append(counters[id], c)
	}
	for _, id := range order {
		counted := m.evaluations(counters[id], items)
		switch {
		case id == [32]byte{}:
			own = counted
		case len(counted) > 0:
			others = append(others, Reported{id, counted})
		}
	}
	return own, others, nil
}

// evaluations are what counters say that is counted, each item's value and day once.
func (m *batcher) evaluations(counters []Counter, items Items) []Evaluation {
	type id struct {
		day        Day
		key, value string
	}
	all := map[id]Evaluation{}
	for _, c := range counters {
		text, known := items(c.Key, c.Value)
		if !known {
			continue
		}
		if len(text) > MaxValueText {
			text = ""
		}
		at := m.now
		if !c.End.IsZero() {
			at = c.End.Add(m.shift)
		}
		if at.After(m.now) {
			at = m.now
		} else if earliest := m.now.Add(-maxEarlier); at.Before(earliest) {
			at = earliest
		}
		is := id{DayOf(at), c.Key, text}
		e := all[is]
		if at.Before(e.At) {
			at = e.At
		}
		all[is] = Evaluation{m.environment, c.Key, text, at, plus(e.Count, c.Count)}
	}
	return slices.SortedStableFunc(maps.Values(all), func(a, b Evaluation) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value))
	})
}
