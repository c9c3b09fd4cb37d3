package revwalk

import "encoding/hex"

const idBytes = 20

// ID is an object id in binary.
type ID [idBytes]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID is for texts that are ids, see object.IsID.
func ParseID(text string) (id ID) {
	_, _ = hex.Decode(id[:], []byte(text))
	return id
}
