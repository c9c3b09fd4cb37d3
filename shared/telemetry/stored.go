package telemetry

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Decode reads what json.Marshal has made of a Saved. A walk decodes tens of thousands, so
// the form that there is nearly always is read without package json, which takes ten times
// as long.
func (s *Saved) Decode(text []byte) error {
	r := scanner{rest: string(text)}
	for _, member := range []struct {
		name string
		to   *string
	}{{`{"Environment":`, &s.Environment}, {`,"Type":`, &s.Type}, {`,"Key":`, &s.Key}} {
		r.literal(member.name)
		*member.to = r.text()
	}
	r.literal(`,"LastSeen":`)
	seen, err := time.Parse(time.RFC3339Nano, r.text())
	r.literal(`,"Properties":`)
	s.LastSeen, s.Properties = seen, r.properties()
	if r.literal(`}`); err == nil && !r.bad && r.rest == "" {
		return nil
	}
	*s = Saved{}
	return json.Unmarshal(text, s)
}

// scanner reads JSON whose form is known, but for that it may be another one.
type scanner struct {
	rest string
	bad  bool
}

func (r *scanner) literal(text string) {
	if !r.optional(text) {
		r.bad = true
	}
}

func (r *scanner) optional(text string) bool {
	rest, found := strings.CutPrefix(r.rest, text)
	if found {
		r.rest = rest
	}
	return found
}

func (r *scanner) number() int64 {
	end := 0
	for end < len(r.rest) && (r.rest[end] == '-' || '0' <= r.rest[end] && r.rest[end] <= '9') {
		end++
	}
	n, err := strconv.ParseInt(r.rest[:end], 10, 64)
	r.bad = r.bad || err != nil
	r.rest = r.rest[end:]
	return n
}

// text reads a string. One with an escape is left to package json.
func (r *scanner) text() string {
	r.literal(`"`)
	end := strings.IndexByte(r.rest, '"')
	if r.bad || end < 0 || strings.IndexByte(r.rest[:end], '\\') >= 0 {
		r.bad = true
		return ""
	}
	text := r.rest[:end]
	r.rest = r.rest[end+1:]
	return text
}

// list reads an array.
func (r *scanner) list(element func()) {
	r.literal(`[`)
	for first := true; !r.bad && !r.optional(`]`); first = false {
		if !first {
			r.literal(`,`)
		}
		element()
	}
}

func (r *scanner) properties() (list []Property) {
	if r.optional(`null`) {
		return nil
	}
	list = make([]Property, 0, strings.Count(r.rest, `{"name":`))
	r.list(func() {
		var p Property
		r.literal(`{"name":`)
		p.Name = r.text()
		r.literal(`,"kind":`)
		p.Kind = Kind(r.number())
		if r.optional(`,"text":`) {
			p.Text = r.text()
		}
		if r.optional(`,"list":`) {
			r.list(func() { p.List = append(p.List, r.text()) })
		}
		r.literal(`}`)
		list = append(list, p)
	})
	return list
}
