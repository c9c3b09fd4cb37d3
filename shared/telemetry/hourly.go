package telemetry

// Hourly is how much that was new a workspace has taken in an hour, and what of
// one batch is too much. Stores fill Keys and Types in, ask it of everything in
// the batch, and keep what Keys and Types are then.
type Hourly struct {
	Keys, Types int

	types   map[string]bool    // of the batch, that are new: whether they are taken
	beyond  map[[2]string]bool // contexts that are not taken, by type and key
	unsaved int
}

// TakeContext reports whether a context is taken whose key or type may be new: a
// key is when no such context is saved, a type when its environment has no
// contexts of it.
func (h *Hourly) TakeContext(c Saved, newKey, newType bool) bool {
	full := newKey && h.Keys >= MaxNewKeys
	if full {
		h.unsaved++
	}
	if full || newType && !h.TakeType(c.Type) {
		if h.beyond == nil {
			h.beyond = map[[2]string]bool{}
		}
		h.beyond[[2]string{c.Type, c.Key}] = true
		return false
	}
	if newKey {
		h.Keys++
	}
	return true
}

// TakeType reports whether a type is taken that has no contexts or no shape. In one
// batch it counts once.
func (h *Hourly) TakeType(name string) bool {
	taken, asked := h.types[name]
	if asked {
		return taken
	}
	if taken = h.Types < MaxNewTypes; taken {
		h.Types++
	}
	if h.types == nil {
		h.types = map[string]bool{}
	}
	h.types[name] = taken
	return taken
}

// Beyond reports whether a pair is one of a context that was not taken.
func (h *Hourly) Beyond(p Pair) bool { return h.beyond[[2]string{p.Type, p.Key}] }

// Recorded is what was made of the batch when so many pairs were counted.
func (h *Hourly) Recorded(counted int) Recorded {
	done := Recorded{Counted: counted, Unsaved: h.unsaved}
	for _, taken := range h.types {
		if !taken {
			done.Types++
		}
	}
	return done
}
