package versions

import (
	"encoding/binary"
)

// A stored text is an entry for each environment, one after the other: the name
// behind its length, the two versions, and in six bytes each the moments between
// which the client version is the one at hand, 0 for none. An environment whose
// rules turn all the time has the end before the begin: no moment is in between.
const (
	lengthBytes = 1
	momentBytes = 6
	entryBytes  = lengthBytes + 2*len(Version{}) + 2*momentBytes
)

// Stored is the versions of environments at a moment, in milliseconds since
// 1970, for Find: 45 bytes for each, and its name. "" where that is not possible.
func Stored(s *State, environments []string, now int64) string {
	var b []byte
	for _, name := range environments {
		e := s.Of(name)
		last, next := e.Turns.Around(now)
		if len(name) > 255 || last < 0 || max(last, next) >= 1<<(8*momentBytes) {
			return ""
		}
		if e.Turns.Volatile {
			last, next = 2, 1
		}
		b = append(append(b, byte(len(name))), name...)
		b = append(append(b, e.SDK[:]...), e.Client[:]...)
		b = appendMoment(appendMoment(b, last), next)
	}
	return string(b)
}

func appendMoment(b []byte, moment int64) []byte {
	return append(b, binary.BigEndian.AppendUint64(nil, uint64(moment))[8-momentBytes:]...)
}

func moment(b []byte) int64 {
	var full [8]byte
	copy(full[8-momentBytes:], b)
	return int64(binary.BigEndian.Uint64(full[:]))
}

// Known is what a stored text tells of an environment.
type Known struct {
	SDK, Client Version // Client is without regard to time
	last, next  int64
}

// At is the client version at a moment, known only until some rule turns.
func (k Known) At(now int64) (client Version, known bool) {
	if now < k.last || k.next != 0 && now >= k.next {
		return Version{}, false
	}
	return k.Client.After(k.last), true
}

// Find reads the versions of an environment from a stored text. Those of one
// that is not in it are not known.
func Find(stored, environment string) (k Known, known bool) {
	for b := []byte(stored); len(b) > 0; {
		length := int(b[0]) + entryBytes
		if len(b) < length {
			return Known{}, false
		}
		name, rest := b[lengthBytes:length-entryBytes+lengthBytes], b[length-entryBytes+lengthBytes:length]
		if string(name) == environment {
			at := len(Version{})
			k.SDK, k.Client = Version(rest[:at]), Version(rest[at:2*at])
			k.last, k.next = moment(rest[2*at:2*at+momentBytes]), moment(rest[2*at+momentBytes:])
			return k, true
		}
		b = b[length:]
	}
	return Known{}, false
}
