package repository

import (
	"time"
)

// Once says of a commit for which request it was made, where its client may send
// that again: under the same id there is to be no second commit. A ledger keeps it
// with the commit, durable as soon as that is, and for as long as it says.
type Once struct {
	// ID and Request are 32 hexadecimal digits each: what the client calls the
	// request, and what it asks for.
	ID, Request string
	// Answer is what the request is answered. A ledger only keeps it; see package
	// change for what is in it.
	Answer []byte
	// Path is the one file that the answer is about; "" when it is about all that the
	// commit changes. It is for a store in which versions are those of files.
	Path string
	// Until says by the ledger's clock when all of it is of no more use.
	Until time.Time
	// Instead is the commit that is kept under the id and counts no more, so that it
	// may be replaced; "" for none.
	Instead string
}

// Landed is the commit that was made under the id of a Once.
type Landed struct {
	Commit  string
	Request string // that it was made for
	Answer  []byte
	// Previous is what the answer names as the version before. It is of a store of files;
	// elsewhere it is the commit's parent.
	Previous string
	// Sequence is where the commit stood when it landed. A history that was
	// replaced may have it elsewhere, or not at all.
	Sequence int64
	Until    time.Time // it counts, by the ledger's time
}

// Answered is a Once with the commit that it was of, as it is kept.
type Answered struct {
	ID      string `json:"id"`
	Request string `json:"request"`
	Answer  []byte `json:"answer"`
	Commit  string `json:"commit"`
	// Previous is the version before, in a store whose commits do not tell.
	Previous string `json:"previous,omitempty"`
	Until    int64  `json:"until"` // in seconds
}
