package feed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"svc.example/svc/shared/access"
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

// Bounds are a PageQuery that was read.
type Bounds struct {
	List  string
	After string // the position of the last row seen; "" at the beginning
	Limit int    // 0 for no limit
	place place  // that After is, in a history
}

// Cursors makes and reads the cursors of a workspace's lists. A cursor is base64url of a
// MAC, the list's name and a position in it.
type Cursors struct {
	Workspace access.Workspace
}

// Bounds reads a page's limit and cursor, and says what is wrong with them.
func (c Cursors) Bounds(list string, q PageQuery) (Bounds, []document.Issue) {
	b := Bounds{List: list}
	var issues []document.Issue
	if q.Limit != nil {
		b.Limit = *q.Limit
		issues = LimitIssues(b.Limit)
	}
	if q.Cursor != "" {
		var ok bool
		if b.After, ok = c.read(list, q.Cursor); !ok {
			issues = append(issues, NotOurs)
		}
	}
	return b, issues
}

// NotOurs is what is wrong with a cursor that a list did not return.
var NotOurs = document.Issue{Pointer: "?cursor",
	Message: "the cursor is not one that this list returned; send nextCursor as it came, or start without"}

// placeBounds is bounds for a list whose positions are places in a history.
func (c Cursors) placeBounds(list string, q PageQuery) (Bounds, []document.Issue) {
	b, issues := c.Bounds(list, q)
	if b.After != "" {
		var ok bool
		if b.place, ok = readPlace(b.After); !ok {
			issues = append(issues, NotOurs) // an earlier version's
		}
	}
	return b, issues
}

// LimitIssues are what is wrong with the limit of a page.
func LimitIssues(limit int) []document.Issue {
	if limit < 1 || limit > maxLimit {
		return []document.Issue{{Pointer: "?limit", Message: "limit is a whole number from 1 to 100"}}
	}
	return nil
}

// To makes the cursor of a position, which is not empty, in a list.
func (c Cursors) To(list, position string) string {
	content := list + "\x00" + position
	return base64.RawURLEncoding.EncodeToString(append(c.mac(content), content...))
}

// read returns a cursor's position, if this workspace made it for this
// list. The text is compared with the only one that it may be: decoders pass
// over line breaks and more.
func (c Cursors) read(list, text string) (position string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < macSize || base64.RawURLEncoding.EncodeToString(raw) != text {
		return "", false
	}
	content := string(raw[macSize:])
	position, ok = strings.CutPrefix(content, list+"\x00")
	return position, ok && position != "" && hmac.Equal(raw[:macSize], c.mac(content))
}

func (c Cursors) mac(content string) []byte {
	h := hmac.New(sha256.New, c.Workspace.Secret)
	h.Write([]byte("cursor\x00" + c.Workspace.ID + "\x00" + content))
	return h.Sum(nil)[:macSize]
}
