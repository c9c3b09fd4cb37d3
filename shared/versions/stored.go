package versions

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// A stored text begins with the salt of its versions, the moment that it is of, the
// moment at which it no longer tells of clients, and the moments at which rules
// turn, in order, behind their number. An entry for each environment follows: the
// name behind its length, the two versions, and a bit for each of the moments that
// is one of its own, from the lowest. The highest bit says that the client version
// is never told.
const (
	momentBytes = 8
	maxMoments  = 63
	untold      = 1 << maxMoments
	beginBytes  = len(Salt{}) + 2*momentBytes + 1
	entryBytes  = 1 + 2*len(Version{}) + 8
)

// Stored is the versions of environments at a moment, in milliseconds since 1970,
// for Find: 41 bytes for each, and its name, and 8 for each moment at which their
// rules turn later. After 63 of these nothing more is told of clients. An
// environment whose name is longer than 255 bytes is left out.
func Stored(s *State, salt Salt, environments []string, now int64) string {
	all := make([]Environment, len(environments))
	var past, coming []int64
	for i, name := range environments {
		all[i] = s.Of(name, salt)
		turned := all[i].Turns.Turned(now)
		past = append(past, all[i].Turns.Moments[max(0, turned-1):turned]...)
		coming = append(coming, all[i].Turns.Moments[turned:]...)
	}
	past, coming = distinct(past), distinct(coming)
	past = past[max(0, len(past)-maxMoments):]
	end := int64(math.MaxInt64)
	if room := maxMoments - len(past); room < len(coming) {
		end, coming = coming[room], coming[:room]
	}
	moments := append(past, coming...)

	b := appendMoment(appendMoment(salt[:], now), end)
	b = append(b, byte(len(moments)))
	for _, moment := range moments {
		b = appendMoment(b, moment)
	}
	for i, name := range environments {
		if len(name) > math.MaxUint8 {
			continue
		}
		b = append(append(b, byte(len(name))), name...)
		b = append(append(b, all[i].SDK[:]...), all[i].Client[:]...)
		b = binary.BigEndian.AppendUint64(b, all[i].mask(moments, now))
	}
	return string(b)
}

func distinct(moments []int64) []int64 {
	slices.Sort(moments)
	return slices.Compact(moments)
}

// mask is which of the moments are the environment's, from the last one that has
// passed.
func (e Environment) mask(moments []int64, now int64) (mask uint64) {
	turned := e.Turns.Turned(now)
	for i, moment := range e.Turns.Moments[max(0, turned-1):] {
		if at, found := slices.BinarySearch(moments, moment); found {
			mask |= 1 << at
		} else if i == 0 && turned > 0 {
			return untold
		}
	}
	if e.Turns.Volatile {
		return untold
	}
	return mask
}

func appendMoment(b []byte, moment int64) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(moment))
}

func moment(text string) int64 {
	return int64(binary.BigEndian.Uint64([]byte(text[:momentBytes])))
}

// Known is what a stored text tells of an environment.
type Known struct {
	SDK, Client Version // Client is without regard to time
	of, end     int64
	moments     string
	mask        uint64
}

// At is the client version at a moment, where it is told.
func (k Known) At(now int64) (client Version, known bool) {
	if k.mask&untold != 0 || now >= k.end {
		return Version{}, false
	}
	var last int64
	for rest := k.mask; rest != 0; rest &= rest - 1 {
		turn := moment(k.moments[momentBytes*bits.TrailingZeros64(rest):])
		if turn > now {
			if rest == k.mask && turn <= k.of { // what was before is not told
				return Version{}, false
			}
			break
		}
		last = turn
	}
	return k.Client.After(last), true
}

// FindSalt reads the salt from a stored text.
func FindSalt(stored string) (salt Salt, known bool) {
	if len(stored) < beginBytes {
		return Salt{}, false
	}
	copy(salt[:], stored)
	return salt, true
}

// Find reads the versions of an environment from a stored text. Those of one
// that is not in it are not known.
func Find(stored, environment string) (k Known, known bool) {
	if len(stored) < beginBytes {
		return k, false
	}
	times := stored[len(Salt{}):]
	k.of, k.end = moment(times), moment(times[momentBytes:])
	size := momentBytes * int(stored[beginBytes-1])
	if stored = stored[beginBytes:]; len(stored) < size {
		return k, false
	}
	k.moments, stored = stored[:size], stored[size:]
	for len(stored) > 0 {
		name := 1 + int(stored[0])
		length := name - 1 + entryBytes
		if len(stored) < length {
			break
		}
		if stored[1:name] == environment {
			versions := stored[name:]
			copy(k.SDK[:], versions)
			copy(k.Client[:], versions[len(k.SDK):])
			k.mask = uint64(moment(versions[len(k.SDK)+len(k.Client):]))
			return k, k.mask&untold != 0 || bits.Len64(k.mask)*momentBytes <= size
		}
		stored = stored[length:]
	}
	return Known{}, false
}
