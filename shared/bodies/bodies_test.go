package bodies

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"svc.example/svc/shared/fault"
)

func TestLargeBodiesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Budget
		leave, err := b.take(t.Context(), most)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.take(t.Context(), small); err != nil {
			t.Errorf("a small body waits: %v", err)
		}
		if _, err := b.take(t.Context(), small+1); err == nil || fault.Of(err).Kind != fault.Unavailable {
			t.Errorf("a second large body is decoded beside the largest: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.take(gone, most/2); err == nil {
			t.Error("a body is decoded whose client has gone")
		}
		leave()
		for range 2 {
			if _, err := b.take(t.Context(), most/2); err != nil {
				t.Errorf("what fits waits: %v", err)
			}
		}
	})
}

func TestWhatIsReadOfARequest(t *testing.T) {
	for name, c := range map[string]struct {
		body     io.Reader
		encoding string
		want     int // bytes
		kind     fault.Kind
		says     string
	}{
		"none":              {body: strings.NewReader("")},
		"small":             {body: strings.NewReader("{}"), want: 2},
		"named as plain":    {body: strings.NewReader("{}"), encoding: "Identity", want: 2},
		"the largest":       {body: strings.NewReader(strings.Repeat(" ", Max)), want: Max},
		"too large":         {body: strings.NewReader(strings.Repeat(" ", Max+1)), kind: fault.PayloadTooLarge, says: "1 MiB"},
		"too large, unsaid": {body: io.MultiReader(strings.NewReader(strings.Repeat(" ", Max+1))), kind: fault.PayloadTooLarge, says: "1 MiB"},
		"broken off":        {body: io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)), kind: fault.BadRequest, says: "complete"},
		"packed":            {body: strings.NewReader("{}"), encoding: "gzip", kind: fault.BadRequest, says: "Content-Encoding"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", c.body)
			r.Header.Set("Content-Encoding", c.encoding)
			body, leave, err := new(Budget).Read(httptest.NewRecorder(), r)
			if c.says != "" {
				if f := fault.Of(err); err == nil || f.Kind != c.kind || !strings.Contains(f.Message, c.says) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || len(body) != c.want {
				t.Fatalf("%d bytes, %v", len(body), err)
			}
			leave()
			leave()
		})
	}
}
