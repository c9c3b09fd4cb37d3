package evaluation

import (
	"bytes"
	"slices"
	"strconv"

	"svc.example/svc/shared/document"
)

// CurrentTime is the property that holds the time of the evaluation, in epoch
// milliseconds, whatever the context says.
const CurrentTime = document.CurrentTime

// OlderCurrentTime reports whether rules of older systems mean CurrentTime by a name.
func OlderCurrentTime(propertyName string) bool {
	return slices.Contains([]string{"prefab.current-time", "reforge.current-time", "quonfig.current-time"}, propertyName)
}

// Frame is one context laid out for one snapshot. Get it with NewFrame, fill
// it with Put, and give it back with Release.
type Frame struct {
	snapshot   *Snapshot
	random     func() float64
	properties []Property
	segments   []outcome
	matched    []int32   // per list: see match
	decided    []outcome // of tests
	scratch    []byte
	spent      int64              // of the budget
	drawn      map[*split]float64 // what chance has decided; nil where it is asked only once
}

// outcome is what is known of a context and a segment, or a test.
type outcome byte

const (
	unknown outcome = iota
	yes
	no
)

func outcomeOf(holds bool) outcome {
	if holds {
		return yes
	}
	return no
}

// NewFrame gives an empty context. Now is in epoch milliseconds; random gives
// numbers in [0, 1) and decides splits that have no property to hash.
func (s *Snapshot) NewFrame(now int64, random func() float64) *Frame {
	f, ok := s.frames.Get().(*Frame)
	if !ok {
		f = &Frame{
			snapshot:   s,
			properties: make([]Property, len(s.slots)),
			segments:   make([]outcome, len(s.segments)),
			matched:    make([]int32, max(0, len(s.lists)-1)),
			decided:    make([]outcome, len(s.tests)),
		}
	}
	f.random, f.spent = random, 0
	if s.timeSlot >= 0 {
		f.Put(s.timeSlot, Property{Kind: NumberProperty, Text: strconv.FormatInt(now, 10)})
	}
	return f
}

// draw is the point at which chance lets a split fall.
func (f *Frame) draw(s *split) float64 {
	if f.drawn == nil && !s.once {
		return f.random()
	}
	if f.drawn == nil {
		f.drawn = map[*split]float64{}
	}
	point, known := f.drawn[s]
	if !known {
		point = f.random()
		f.drawn[s] = point
	}
	return point
}

// Release gives the frame back for another context.
func (f *Frame) Release() {
	clear(f.properties)
	clear(f.segments)
	clear(f.matched)
	clear(f.decided)
	clear(f.drawn)
	f.snapshot.frames.Put(f)
}

// Slot finds the place of a property of a named context, and -1 when no rule
// reads it: the value then need not even be decoded.
func (f *Frame) Slot(context, property []byte) int {
	if bytes.IndexByte(context, '.') >= 0 {
		return -1 // a rule's property name splits at its first dot, so none can name it
	}
	f.scratch = append(append(append(f.scratch[:0], context...), '.'), property...)
	return f.writable(f.scratch)
}

// FlatSlot is Slot for a name that holds both, split at the first dot.
func (f *Frame) FlatSlot(name []byte) int {
	if bytes.IndexByte(name, '.') < 0 {
		return f.Slot(nil, name)
	}
	return f.writable(name)
}

func (f *Frame) writable(name []byte) int {
	i, ok := f.snapshot.slotByName[string(name)]
	if !ok || i == f.snapshot.timeSlot {
		return -1
	}
	return i
}

// Put sets the property at a slot that Slot or FlatSlot found. It comes before
// the first Evaluate: what a test has decided stays decided.
func (f *Frame) Put(i int, p Property) {
	slot := &f.snapshot.slots[i]
	if cost := slot.price.of(&p); cost > budget-f.spent {
		p = Property{Kind: OtherProperty}
	} else {
		f.spent += cost
	}
	if slot.numeric && p.Kind == NumberProperty {
		p.number, p.numeric = parseNumber(p.Text)
	}
	f.properties[i] = p
}

// Has reports whether the property at a slot is present.
func (f *Frame) Has(slot int) bool { return f.properties[slot].Kind != Absent }
