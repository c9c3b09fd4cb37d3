package access

// Checksum lets a test forge a key.
var Checksum = checksum

// IsFixedRefusal tells whether err is one of ParseKey's constant texts, which
// cannot hold a part of the input.
func IsFixedRefusal(err error) bool {
	switch err {
	case errKeyLength, errKeyPrefix, errKeyChecksum, errKeyParts:
		return true
	}
	return false
}
