package httpapi

import (
	"cmp"
	"net/http"

	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/negotiation"
)

const jsonType = "application/json"

// page is what a handler answers that is encoded already.
type page struct {
	contentType string
	// immutable says that the address never stands for anything else.
	immutable bool
	*negotiation.Body
}

// answer is a whole answer.
type answer struct {
	status      int
	contentType string
	encoding    negotiation.Coding
	etag        string
	body        []byte
}

// pageOf encodes what a handler answers.
func pageOf(result any) (*page, error) {
	text, err := encoding.JSON(result)
	return &page{contentType: jsonType, Body: negotiation.NewBody(text)}, err
}

// success is the answer to a request that was carried out. That to a GET has an entity
// tag, and no body when the client has it.
func (c *call) success(result any) (*answer, error) {
	p, ready := result.(*page)
	if !ready {
		var err error
		if p, err = pageOf(result); err != nil {
			return nil, err
		}
	}
	a, err := c.compressed(p)
	if err != nil || c.operation.Method != http.MethodGet {
		return a, err
	}
	c.header.Set("ETag", a.etag)
	if p.immutable {
		c.header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if negotiation.NoneMatch(c.request, a.etag) != negotiation.Neither {
		return &answer{status: http.StatusNotModified}, nil
	}
	return a, nil
}

// compressed gives an answer its encoding, where it is not too large to be sent.
func (c *call) compressed(p *page) (a *answer, err error) {
	a = &answer{status: cmp.Or(c.status, http.StatusOK), contentType: p.contentType}
	if _, size := p.Identity(); negotiation.Gzip(c.request, size) {
		a.encoding = negotiation.GzipCoding
	}
	if a.body, a.etag, err = p.As(a.encoding); err != nil {
		return nil, err
	}
	// What a write has done is told whatever its length: it has happened.
	done := c.operation.writes() && !c.dryRun()
	if most := c.options.MaxAnswer; most > 0 && len(a.body) > most && !done {
		return nil, c.tooLarge(len(a.body), a.encoding)
	}
	c.header.Set("Vary", "Accept-Encoding")
	return a, nil
}

// tooLarge refuses an answer that could not be sent.
func (c *call) tooLarge(size int, encoding negotiation.Coding) error {
	advice := ""
	if c.query["impact"] == "true" {
		advice = "leave impact out"
	}
	for _, p := range c.operation.query {
		if p.name == "limit" {
			advice = "ask for pages with limit"
		}
	}
	if c.operation.Operation == "evaluateContext" {
		advice = "name fewer keys"
	}
	if encoding == "" {
		compressed := "accept gzip in Accept-Encoding"
		if advice != "" {
			compressed += ", or "
		}
		advice = compressed + advice
	}
	return fault.New(fault.BadRequest, "the answer would be %d bytes long, more than can be sent at once; %s", size, advice)
}
