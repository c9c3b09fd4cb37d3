package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"testing"
)

// fetchInit is the second argument of fetch.
type fetchInit struct {
	Method  string            `json:"method,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
}

// answer is what a page could read of an answer, or the name of the error that
// fetch rejected with.
type answer struct {
	Failure string            `json:"failure"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

const fetchFunction = `async (url, init) => {
	try {
		const answer = await fetch(url, init);
		return {
			status: answer.status,
			headers: Object.fromEntries(answer.headers),
			body: await answer.text(),
		};
	} catch (error) {
		return { failure: error.name };
	}
}`

func (tab tab) fetch(t *testing.T, url string, init fetchInit) answer {
	t.Helper()
	return call[answer](t, tab, fetchFunction, url, init)
}

// evaluations is the answer to a poll.
type evaluations struct {
	Evaluations map[string]struct {
		Value struct {
			Type  string `json:"type"`
			Value any    `json:"value"`
		} `json:"value"`
		Reason string `json:"reason"`
	} `json:"evaluations"`
	Meta struct{ Version, Environment string } `json:"meta"`
}

// values checks that the answer is a success and returns the value of each
// key.
func (a answer) values(t *testing.T) map[string]any {
	t.Helper()
	var e evaluations
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil || a.Status != 200 || len(e.Evaluations) == 0 {
		t.Fatalf("the page reads %+v, not evaluations", a)
	}
	values := map[string]any{}
	for key, one := range e.Evaluations {
		values[key] = one.Value.Value
	}
	return values
}

// pollPath is where a server at a base URL evaluates for a token.
func pollPath(base, token string) string {
	return base + "/api/v2/configs/eval-with-context/" + token
}

// tokenOf encodes a context as the documented client does, in the alphabet
// that a path holds as it is.
func tokenOf(context string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(context))
}
