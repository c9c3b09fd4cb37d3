package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/explanation"
)

// evaluates is the value of a flag in an environment, at a commit or now.
func evaluates(t *testing.T, s *control.Session, environment string, at *string, key string) string {
	t.Helper()
	answer, err := s.Evaluate(ctx, control.EvaluationQuery{Environment: environment, At: at,
		Question: explanation.Question{Keys: []string{key}, Explain: true}})
	if err != nil {
		return refusal(err)
	}
	e := answer.Evaluations[key]
	if e == nil {
		return strings.Join(answer.Missing, " ") + " is missing"
	}
	if e.Truncated {
		t.Errorf("%s is not explained", key)
	}
	return string(e.Value)
}

func TestEvaluateNowAndThen(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	first := w.last().SHA
	w.repo.Push(ada, "On", map[string]string{path("f"): boolFlag("f", "", serves("bool", "true"))})
	second := w.last().SHA
	w.repo.Push(ada, "Break and add", map[string]string{path("f"): "{", path("g"): boolFlag("g", "")})
	third := w.last().SHA
	w.repo.Push(ada, "Other environments", map[string]string{"svc.json": `{"environments": ["later"]}`})
	for _, tt := range []struct {
		environment string
		at          *string
		key, want   string
	}{
		{"later", nil, "f", "true"}, // as it last was good
		{"later", nil, "g", "false"},
		{"production", nil, "f", "404 NOT_FOUND"},
		{"production", ptr(first), "f", "false"},
		{"later", ptr(first), "f", "404 NOT_FOUND"},
		{"production", ptr(first), "g", "g is missing"},
		{"production", ptr(second[:12]), "f", "true"},
		{"production", ptr(third), "f", "f is missing"},
		{"later", ptr(w.last().SHA), "f", "true"},
		{"later", ptr("0123abcd"), "f", "404 NOT_FOUND"},
		{"later", ptr("HEAD"), "f", "400 BAD_REQUEST"},
	} {
		for range 2 { // the second time from memory
			if got := evaluates(t, w.boss(), tt.environment, tt.at, tt.key); got != tt.want {
				at := "now"
				if tt.at != nil {
					at = *tt.at
				}
				t.Errorf("%s in %s, %s: %s, want %s", tt.key, tt.environment, at, got, tt.want)
			}
		}
	}
}

// TestAWarmEvaluationReadsNoMore than any other read, and one of the past only
// finds its commit.
func TestAWarmEvaluationReadsNoMore(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	first := w.last().SHA
	w.repo.Push(ada, "On", map[string]string{path("f"): boolFlag("f", "", serves("bool", "true"))})
	for _, at := range []*string{nil, &first} {
		evaluates(t, w.boss(), "production", at, "f")
		before := map[string]int{}
		for _, method := range []string{"Snapshot", "Past", "At", "History"} {
			before[method] = w.repo.Count(method)
		}
		evaluates(t, w.boss(), "production", at, "f")
		for method, n := range before {
			want := map[bool]int{true: 1}[method == "Snapshot" || method == "At" && at != nil]
			if got := w.repo.Count(method) - n; got != want {
				t.Errorf("at %v: %s was called %d times, want %d", at != nil, method, got, want)
			}
		}
	}
}

func TestAnEnvironmentThatIsTooLarge(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", serves("bool", "true"))})
	settings := w.settings()
	settings.MaxCompiled = 100
	w.service = control.New(settings)
	if got := evaluates(t, w.boss(), "production", nil, "f"); got != "503 SERVICE_UNAVAILABLE" {
		t.Error(got)
	}
}
