package negotiation

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// Body is a body that is sent often. It is kept in the form it was made with, and the
// other form is made for the first who asks.
type Body struct {
	mu          sync.Mutex
	plain, gzip []byte
	tag         string
	size        int // of the form that it was made with
}

// NewBody keeps a plain body.
func NewBody(plain []byte) *Body { return &Body{plain: plain} }

// NewPackedBody keeps what Compress has made.
func NewPackedBody(gzip []byte) *Body { return &Body{gzip: gzip} }

// Identity tells the body from others, in any coding, and says how large it was made.
func (b *Body) Identity() (tag string, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tag == "" {
		made := b.plain
		if b.gzip != nil {
			made = b.gzip
		}
		sum := sha256.Sum256(made)
		b.tag, b.size = hex.EncodeToString(sum[:16]), len(made)
	}
	return b.tag, b.size
}

// As is the body in a coding, which is "" or gzip, and its entity tag.
func (b *Body) As(coding Coding) (content []byte, etag string, err error) {
	tag, _ := b.Identity()
	b.mu.Lock()
	defer b.mu.Unlock()
	etag = coding.Tag(`"` + tag + `"`)
	if coding == "" {
		if b.plain == nil && b.gzip != nil {
			b.plain, err = Decompress(b.gzip)
		}
		return b.plain, etag, err
	}
	if b.gzip == nil {
		b.gzip = Compress(b.plain)
	}
	return b.gzip, etag, nil
}
