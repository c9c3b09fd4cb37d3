package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/terminal"
)

// Prometheus asks a server that has the HTTP API of Prometheus.
type Prometheus struct {
	address string // of its queries
	http    http.Client
}

const (
	timeout   = 10 * time.Second // of an answer
	maxAnswer = 1 << 20          // bytes of one
	maxSaid   = 300              // characters that are told of what it says
)

// NewPrometheus is one at a base URL, which may have a user name and a password.
func NewPrometheus(base string) (*Prometheus, error) {
	u, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not the address of a Prometheus; it looks like http://127.0.0.1:9090", terminal.Escape(baseurl.Redacted(base)))
	}
	p := &Prometheus{address: u.String() + "/api/v1/query"}
	p.http.Timeout = timeout
	p.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return p, nil
}

// Refused says that the server understood, and will never answer this query.
type Refused struct{ Why string }

func (r *Refused) Error() string { return "Prometheus refuses the query: " + r.Why }

// Ask is what a query comes to now: the values of its series.
func (p *Prometheus) Ask(ctx context.Context, query string) ([]float64, error) {
	form := url.Values{"query": {query}, "timeout": {timeout.String()}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("User-Agent", "svc")
	response, err := p.http.Do(request)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the address, which may have a password
	}
	if err != nil {
		return nil, fmt.Errorf("Prometheus does not answer: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer of Prometheus was cut off: %w", err)
	case len(body) > maxAnswer:
		return nil, &Refused{fmt.Sprintf("the answer is larger than %d bytes; aggregate it, as with max()", maxAnswer)}
	}
	return read(response.StatusCode, body)
}

// read reads an answer.
func read(status int, body []byte) ([]float64, error) {
	var answer struct {
		Status, Error, ErrorType string
		Data                     struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if json.Unmarshal(body, &answer) != nil || answer.Status == "" {
		return nil, fmt.Errorf("Prometheus answers %d, and not as its API does; check the address", status)
	}
	if answer.Status != "success" {
		why := short(answer.Error)
		if status == http.StatusBadRequest {
			return nil, &Refused{why}
		}
		return nil, fmt.Errorf("Prometheus answers %d: %s", status, why)
	}
	var samples [][2]json.RawMessage
	switch answer.Data.ResultType {
	case "vector":
		var series []struct{ Value [2]json.RawMessage }
		if err := json.Unmarshal(answer.Data.Result, &series); err != nil {
			return nil, errors.New("Prometheus answers a vector that cannot be read")
		}
		for _, s := range series {
			samples = append(samples, s.Value)
		}
	case "scalar":
		samples = make([][2]json.RawMessage, 1)
		if err := json.Unmarshal(answer.Data.Result, &samples[0]); err != nil {
			return nil, errors.New("Prometheus answers a scalar that cannot be read")
		}
	default:
		return nil, &Refused{fmt.Sprintf("it comes to a %s; it has to be an instant vector or a scalar", short(answer.Data.ResultType))}
	}
	values := make([]float64, len(samples))
	for i, s := range samples {
		var text string
		err := json.Unmarshal(s[1], &text)
		if err == nil {
			values[i], err = strconv.ParseFloat(text, 64)
		}
		if err != nil {
			return nil, errors.New("Prometheus answers a value that is no number")
		}
	}
	return values, nil
}

func short(text string) string {
	if runes := []rune(text); len(runes) > maxSaid {
		text = string(runes[:maxSaid]) + "…"
	}
	return terminal.Escape(text)
}
