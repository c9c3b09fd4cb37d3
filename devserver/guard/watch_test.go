package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/guard"
	"svc.example/svc/shared/testing/must"
)

// watched is a guard over looks, every 15 s: a value, or ? where Prometheus is away. The
// last one is so until the end.
func watched(looks []string, undo func(guard.Alarm) error) (w *Watch, said *[]string) {
	above, lines, n := 0.05, []string{}, 0
	return &Watch{Query: "errors", Threshold: guard.Threshold{Above: &above}, For: 30 * time.Minute, Hold: time.Minute, Every: 15 * time.Second,
		Ask: func(context.Context, string) ([]float64, error) {
			look := looks[min(n, len(looks)-1)]
			if n++; look == "?" {
				return nil, errors.New("Prometheus does not answer")
			}
			var value float64
			_, err := fmt.Sscan(look, &value)
			return []float64{value}, err
		},
		Undo: func(_ context.Context, a guard.Alarm) error { return undo(a) },
		Say:  func(line string) { lines = append(lines, line) }}, &lines
}

func TestWatch(t *testing.T) {
	for name, test := range map[string]struct {
		looks   string
		undone  bool
		after   time.Duration
		wrong   string
		message string // of the alarm
	}{
		"all is well":             {"0.01", false, 30 * time.Minute, "", ""},
		"wrong from the start":    {"0.2", true, time.Minute, "", "the value is 0.2, above 0.05"},
		"wrong later":             {"0.01 0.02 0.1 0.1 0.1 0.1 0.3", true, 90 * time.Second, "", "the value is 0.3, above 0.05"},
		"not for long enough":     {"0.1 0.1 0.1 0.1 0.01", false, 30 * time.Minute, "", ""},
		"away":                    {"?", false, 30 * time.Minute, "has not answered once", ""},
		"away for a while":        {"0.1 ? ? ? 0.1", true, time.Minute, "", "the value is 0.1, above 0.05"},
		"away while it was wrong": {"0.1 ?", false, 30 * time.Minute, "", ""},
		"no number":               {"NaN", false, 30 * time.Minute, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told string
				w, said := watched(strings.Fields(test.looks), func(a guard.Alarm) error { told = a.Message(); return nil })
				begun := time.Now()
				undone, err := w.Run(context.Background())
				if undone != test.undone || (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("undone %v, %v", undone, err)
				}
				if took := time.Since(begun); took != test.after || !strings.Contains(told, test.message) || undone != (told != "") {
					t.Errorf("after %v: %s", took, told)
				}
				if len(*said) == 0 {
					t.Error("nothing was said")
				}
			})
		})
	}
}

func TestUndoIsTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		errs  []error
		tries int
	}{
		"at once":    {nil, 1},
		"later":      {[]error{errors.New("away"), errors.New("away")}, 3},
		"never":      {[]error{&Final{errors.New("OVERLAP")}}, 1},
		"given up":   {[]error{errors.New("x")}, maxTries},
		"interrupts": {[]error{context.Canceled}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				tries := 0
				w, _ := watched([]string{"1"}, func(guard.Alarm) error {
					tries++
					switch {
					case name == "interrupts":
						cancel()
					case name == "given up":
						return test.errs[0]
					case tries > len(test.errs):
						return nil
					}
					return test.errs[tries-1]
				})
				undone, err := w.Run(ctx)
				if tries != test.tries || undone != (tries > len(test.errs) && name != "given up") || undone != (err == nil) {
					t.Errorf("%d tries: %v, %v", tries, undone, err)
				}
			})
		})
	}
}

func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		w, _ := watched([]string{"0"}, nil)
		if undone, err := w.Run(ctx); undone || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", undone, err)
		}
	})
}

func TestWhatPrometheusAnswers(t *testing.T) {
	var status int
	var body, asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked = fmt.Sprint(r.Method, r.URL.Path, r.FormValue("query"), user, password)
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	p := must.Get(NewPrometheus(strings.Replace(server.URL, "://", "://ada:pw@", 1) + "/"))(t)
	vector := func(values string) string {
		return `{"status":"success","data":{"resultType":"vector","result":[` + values + `]}}`
	}
	for _, test := range []struct {
		status            int
		body, values, why string
		refused           bool
	}{
		{200, vector(`{"metric":{"a":"b"},"value":[1.5,"0.25"]},{"metric":{},"value":[1,"+Inf"]}`), "[0.25 +Inf]", "", false},
		{200, vector(""), "[]", "", false},
		{200, `{"status":"success","data":{"resultType":"scalar","result":[1,"NaN"]}}`, "[NaN]", "", false},
		{200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, "", "it comes to a matrix", true},
		{200, vector(`{"value":[1,"x"]}`), "", "no number", false},
		{200, vector(`{"value":[1]}`), "", "no number", false},
		{200, vector(`7`), "", "cannot be read", false},
		{200, vector(strings.Repeat(`{"value":[1,"1"]},`, 60000) + `{"value":[1,"1"]}`), "", "larger than", true},
		{200, "<html>", "", "check the address", false},
		{302, "", "", "check the address", false},
		{400, `{"status":"error","errorType":"bad_data","error":"parse error\u001b[1m"}`, "", "Prometheus refuses the query: parse error", true},
		{503, `{"status":"error","errorType":"timeout","error":"query timed out"}`, "", "503: query timed out", false},
	} {
		status, body = test.status, test.body
		values, err := p.Ask(context.Background(), "up == 0")
		if test.why == "" && fmt.Sprint(values) != test.values || (err == nil) != (test.why == "") {
			t.Errorf("%d %.80s: %v, %v", test.status, test.body, values, err)
		}
		if err != nil && (!strings.Contains(err.Error(), test.why) || strings.ContainsAny(err.Error(), "\x1b") || errors.As(err, new(*Refused)) != test.refused) {
			t.Errorf("%d %.80s: %v", test.status, test.body, err)
		}
	}
	if asked != "POST/api/v1/queryup == 0adapw" {
		t.Errorf("asked %s", asked)
	}
	server.Close()
	if _, err := p.Ask(context.Background(), "up"); err == nil || strings.Contains(err.Error(), "pw") {
		t.Errorf("%v", err)
	}
	for _, base := range []string{"", "prometheus:9090", "ftp://x", "http://x?y=z", "http://"} {
		if _, err := NewPrometheus(base); err == nil {
			t.Errorf("%q is an address", base)
		}
	}
}
