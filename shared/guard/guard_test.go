package guard

import (
	"math"
	"strings"
	"testing"
	"time"
)

func ptr(v float64) *float64 { return &v }

func TestThresholds(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		t      Threshold
		values []float64
		worst  float64
		wrong  bool
		words  string
	}{
		{Threshold{}, nil, 0, false, "there"},
		{Threshold{}, []float64{0}, 0, true, "there"},
		{Threshold{}, []float64{nan}, 0, false, "there"},
		{Threshold{Above: ptr(0.05)}, []float64{0.05}, 0, false, "above 0.05"},
		{Threshold{Above: ptr(0.05)}, []float64{nan, 0.06, 0.2, 0.01}, 0.2, true, "above 0.05"},
		{Threshold{Above: ptr(0.05)}, []float64{math.Inf(1)}, math.Inf(1), true, "above 0.05"},
		{Threshold{Below: ptr(0.99)}, []float64{1, 0.9, 0.95}, 0.9, true, "below 0.99"},
		{Threshold{Below: ptr(0.99)}, []float64{0.99, nan}, 0, false, "below 0.99"},
	} {
		if worst, wrong := test.t.Worst(test.values); worst != test.worst || wrong != test.wrong || test.t.String() != test.words {
			t.Errorf("%v of %v: %v %v", test.t, test.values, worst, wrong)
		}
	}
}

func TestHold(t *testing.T) {
	for name, test := range map[string]struct {
		looks string // every 15 s: x is wrong, - is not, ? was not seen
		held  int    // the look at which it is held, -1 for none
	}{
		"for a minute":         {"-xxxxx", 5},
		"not for a minute":     {"xxxx-xxxx", -1},
		"begins anew":          {"xxxx-xxxxx", 9},
		"a look that failed":   {"xx?xx", 4},
		"held by the next one": {"xxxx?x", 5},
		"never by a failure":   {"xxxx????", -1},
		"after a long gap":     {"xx??????xxxx", -1},
		"away all the time":    {"????????", -1},
	} {
		h, held := Hold{For: time.Minute, Every: 15 * time.Second}, -1
		for i, look := range test.looks {
			if look == '?' {
				continue
			}
			if _, is := h.See(time.Unix(int64(15*i), 0), look == 'x'); is && held < 0 {
				held = i
			}
		}
		if held != test.held {
			t.Errorf("%s: held at %d, not %d", name, held, test.held)
		}
	}
	once := Hold{}
	if _, held := once.See(time.Unix(0, 0), true); !held {
		t.Error("without a hold it is held at once")
	}
}

func TestMessages(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	a := Alarm{"sum(rate(errors[1m]))\n  / sum(rate(all[1m]))\x1b", Threshold{Above: ptr(0.05)}, 0.23, at.Add(-75 * time.Second), at}
	want := "Taken back by a guard: the value is 0.23, above 0.05\n\nThe query sum(rate(errors[1m])) / sum(rate(all[1m]))\nhas been above 0.05 since 2026-03-02T09:28:45Z, for 1m15s."
	if got := a.Message(); got != want || !TookBack(got) || TookBack("Roll out") {
		t.Errorf("%s", got)
	}
	a.Query, a.Threshold = strings.Repeat("x", 5000), Threshold{}
	if got := a.Message(); len(got) > 1000 || !strings.HasPrefix(got, "Taken back by a guard: what it watches for is there, with the value 0.23\n") {
		t.Errorf("%s", got)
	}
}
