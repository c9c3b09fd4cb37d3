package revwalk

import "github.com/go-git/go-git/v5/plumbing"

// ID is an object id in binary.
type ID = plumbing.Hash

// ParseID is for texts that are ids, see object.IsID.
func ParseID(text string) ID { return plumbing.NewHash(text) }
