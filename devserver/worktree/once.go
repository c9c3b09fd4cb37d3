package worktree

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/requestid"
)

const (
	onceHeader     = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
)

// Bounds of what is remembered. The one that was answered first makes room.
const (
	maxAnswers     = 1000
	maxAnswerBytes = 8 << 20 // of all
	maxOnceBody    = 8 << 20 // of a request, more than any may have
)

// once are the answers to requests that may be sent again, by their Idempotency-Key.
// They outlive the process, and other servers of the directory have them, by a file of
// the user's: nothing of them lies with the files of the directory. It is written before
// the answer is sent, and right after the files: only who is killed in between has
// forgotten what was done.
type once struct {
	path   string // of the file; "" for none
	logger *slog.Logger
	turn   sync.Mutex // held while such a request is carried out: they write, and take turns anyway
	all    map[string]onceAnswer
	order  []string // of the keys
	bytes  int
}

// onceAnswer is what a request has led to.
type onceAnswer struct {
	Request string // a digest of it
	Header  http.Header
	Body    []byte
	Until   time.Time
}

// serve carries out a write, or answers as it was answered before. A key of the wrong
// form is told of by who reads the request.
func (o *once) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	keys, writes := r.Header.Values(onceHeader), slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, r.Method)
	if !writes || len(keys) != 1 || r.URL.Query().Get(dryRunParameter) == "true" {
		next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxOnceBody+1))
	if err != nil || len(body) > maxOnceBody { // which is refused
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
		next.ServeHTTP(w, r)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	asked := control.Digest([]byte(r.Method), []byte(r.URL.RequestURI()), body)
	leave, err := o.enter(r.Context())
	if err != nil {
		delivery.WriteFault(w, fault.Of(err))
		return
	}
	defer leave()
	key := nameOf(keys[0])
	was, known := o.all[key]
	if known && time.Now().After(was.Until) {
		o.forget(key)
		known = false
	}
	switch {
	case known && was.Request == asked:
		id := w.Header().Get(requestid.Header) // of this request
		maps.Copy(w.Header(), was.Header)
		w.Header().Set(requestid.Header, id)
		w.Header().Set(replayedHeader, "true")
		delivery.WriteJSON(w, http.StatusOK, was.Body)
		return
	case known:
		delivery.WriteFault(w, fault.New(fault.Unprocessable,
			"another request was carried out under this Idempotency-Key: send each request under a key of its own, and the same request again byte for byte").
			With(map[string]any{"code": "IDEMPOTENCY_MISMATCH"}))
		return
	}
	answer := &kept{ResponseWriter: w, status: http.StatusOK}
	next.ServeHTTP(answer, r)
	if answer.status == http.StatusOK && changes(answer.body.Bytes()) {
		o.keep(key, onceAnswer{asked, w.Header().Clone(), answer.body.Bytes(), time.Now().Add(control.Remembered)})
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body.Bytes()) // else the client has gone
}

// changes says whether an answer is one to a write that has changed something.
func changes(body []byte) bool {
	var answer struct {
		Changed *bool
		Cleared int
		// Of an item that was created, and of an override that was set.
		Document, Value json.RawMessage
	}
	if json.Unmarshal(body, &answer) != nil {
		return false
	}
	if answer.Changed != nil {
		return *answer.Changed
	}
	return answer.Cleared > 0 || answer.Document != nil || answer.Value != nil
}

func (o *once) keep(key string, answer onceAnswer) {
	o.all[key] = answer
	o.order = append(o.order, key)
	o.bytes += len(answer.Body)
	o.bound(time.Now())
	o.save()
}

func (o *once) bound(now time.Time) {
	for len(o.order) > 0 && (len(o.order) > maxAnswers || o.bytes > maxAnswerBytes || now.After(o.all[o.order[0]].Until)) {
		o.forget(o.order[0])
	}
}

func (o *once) forget(key string) {
	o.bytes -= len(o.all[key].Body)
	delete(o.all, key)
	o.order = slices.DeleteFunc(o.order, func(one string) bool { return one == key })
}

// kept is an answer that is kept back.
type kept struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (k *kept) WriteHeader(status int)         { k.status = status }
func (k *kept) Write(text []byte) (int, error) { return k.body.Write(text) }
