package control

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"svc.example/svc/shared/document"
)

// PageQuery asks for a page of a list.
type PageQuery struct {
	Limit  *int // nil when the request has none
	Cursor string
}

const (
	maxLimit = 100
	macSize  = 16
)

// bounds are a PageQuery that was read.
type bounds struct {
	list  string
	after string // the position of the last row seen; "" at the beginning
	limit int    // 0 for no limit
	place place  // that after is, in a history
}

// bounds reads a page's limit and cursor, and says what is wrong with them.
func (s *Session) bounds(list string, q PageQuery) (bounds, []document.Issue) {
	b := bounds{list: list}
	var issues []document.Issue
	if q.Limit != nil {
		b.limit = *q.Limit
		issues = limitIssues(b.limit)
	}
	if q.Cursor != "" {
		var ok bool
		if b.after, ok = s.readCursor(list, q.Cursor); !ok {
			issues = append(issues, notOurs)
		}
	}
	return b, issues
}

var notOurs = document.Issue{Pointer: "?cursor",
	Message: "the cursor is not one that this list returned; send nextCursor as it came, or start without"}

// placeBounds is bounds for a list whose positions are places in a history.
func (s *Session) placeBounds(list string, q PageQuery) (bounds, []document.Issue) {
	b, issues := s.bounds(list, q)
	if b.after != "" {
		var ok bool
		if b.place, ok = readPlace(b.after); !ok {
			issues = append(issues, notOurs) // an earlier version's
		}
	}
	return b, issues
}

func limitIssues(limit int) []document.Issue {
	if limit < 1 || limit > maxLimit {
		return []document.Issue{{Pointer: "?limit", Message: "limit is a whole number from 1 to 100"}}
	}
	return nil
}

// cursor makes the cursor of a position, which is not empty, in a list.
func (s *Session) cursor(list, position string) string {
	content := list + "\x00" + position
	return base64.RawURLEncoding.EncodeToString(append(s.mac(content), content...))
}

// readCursor returns a cursor's position, if this workspace made it for this
// list. The text is compared with the only one that it may be: decoders pass
// over line breaks and more.
func (s *Session) readCursor(list, text string) (position string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < macSize || base64.RawURLEncoding.EncodeToString(raw) != text {
		return "", false
	}
	content := string(raw[macSize:])
	position, ok = strings.CutPrefix(content, list+"\x00")
	return position, ok && position != "" && hmac.Equal(raw[:macSize], s.mac(content))
}

func (s *Session) mac(content string) []byte {
	h := hmac.New(sha256.New, s.entry.Workspace.Secret)
	h.Write([]byte("cursor\x00" + s.entry.Workspace.ID + "\x00" + content))
	return h.Sum(nil)[:macSize]
}
