package negotiation_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/testing/must"
)

func TestGzip(t *testing.T) {
	for _, c := range []struct {
		accept       string
		small, large bool
	}{
		{"", false, false},
		{"gzip", false, true},
		{"GZIP ; q=0.5", false, true},
		{"br, x-gzip", false, true},
		{"*", false, true},
		{"gzip;q=0", false, false},
		{"gzip;q=0, *", false, false},
		{"*, gzip;q=0.000", false, false},
		{"gzip;q=0.5, identity", false, false},
		{"gzip, identity;q=0", true, true},
		{"gzip, *;q=0", true, true},
		{"gzip;q=nonsense", false, false},
	} {
		r := &http.Request{Header: http.Header{"Accept-Encoding": {c.accept}}}
		if small, large := negotiation.Gzip(r, 100), negotiation.Gzip(r, 100_000); small != c.small || large != c.large {
			t.Errorf("%q: small %t, large %t; want %t, %t", c.accept, small, large, c.small, c.large)
		}
	}
}

func TestChoose(t *testing.T) {
	for accept, want := range map[string]negotiation.Coding{
		"":                        "",
		"gzip":                    negotiation.GzipCoding,
		"gzip, deflate, br, zstd": negotiation.Zstd,
		"zstd;q=0.5, gzip":        negotiation.GzipCoding,
		"zstd;q=0.5, gzip;q=0":    negotiation.Zstd,
		"zstd;q=0, gzip":          negotiation.GzipCoding,
		"*":                       negotiation.GzipCoding,
		"zstd;q=0.5, identity":    "",
		"br":                      "",
	} {
		r := &http.Request{Header: http.Header{"Accept-Encoding": {accept}}}
		if got := negotiation.Choose(r, 100_000); got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
		if got := negotiation.Choose(r, 100); got != "" {
			t.Errorf("%q: %q for a small body", accept, got)
		}
	}
}

func TestCompress(t *testing.T) {
	body := bytes.Repeat([]byte("text "), 1000)
	packed := negotiation.Compress(body)
	if !bytes.Equal(packed, negotiation.Compress(body)) {
		t.Error("equal bodies have unequal packed ones")
	}
	if plain, err := negotiation.Decompress(packed); err != nil || !bytes.Equal(plain, body) || len(packed) > len(body)/10 {
		t.Errorf("%d bytes of %d: %v", len(packed), len(body), err)
	}
}

func TestPack(t *testing.T) {
	body := bytes.Repeat([]byte("text "), 1000)
	pack := func() negotiation.Packed { return negotiation.Pack(func(w io.Writer) { _, _ = w.Write(body) }) }
	p, again := pack(), pack()
	for _, coding := range []negotiation.Coding{negotiation.GzipCoding, negotiation.Zstd} {
		if packed := p.In(coding); !bytes.Equal(packed, again.In(coding)) || len(packed) > len(body)/10 {
			t.Errorf("%s: %d bytes of %d, or other ones each time", coding, len(packed), len(body))
		}
	}
	plain := must.Get(p.Plain())(t)
	if text, err := io.ReadAll(plain); err != nil || !bytes.Equal(text, body) || p.Length != len(body) {
		t.Errorf("%d bytes of %d: %v", p.Length, len(body), err)
	}
}

func TestNoneMatch(t *testing.T) {
	const tag = `"abc"`
	for header, want := range map[string]negotiation.Match{
		"":                  negotiation.Neither,
		`"abd"`:             negotiation.Neither,
		`"abc-gzip"`:        negotiation.Neither,
		`"abc"`:             negotiation.ThisOne,
		`W/"abc"`:           negotiation.ThisOne,
		`"x", "abc"`:        negotiation.ThisOne,
		`*`:                 negotiation.Whichever,
		`*, "x" ,W/"abc"  `: negotiation.ThisOne,
	} {
		if got := negotiation.NoneMatch(&http.Request{Header: http.Header{"If-None-Match": {header}}}, tag); got != want {
			t.Errorf("%q: %d, want %d", header, got, want)
		}
	}
}

// TestLongListsTakeNoMemory: a header may be a megabyte of commas.
func TestLongListsTakeNoMemory(t *testing.T) {
	long := strings.Repeat(",", 1<<16)
	r := &http.Request{Header: http.Header{"Accept-Encoding": {long}, "If-None-Match": {long}}}
	if n := testing.AllocsPerRun(10, func() {
		negotiation.Gzip(r, 100)
		negotiation.NoneMatch(r, `"abc"`)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
