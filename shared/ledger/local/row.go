package local

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// row is one commit of the history, encoded. In memory it costs nothing but
// its bytes, and in the cache it is the same bytes.
//
//	id (20), tree (20, zeros when unknown), flags (1), parents (count, 20 each),
//	author, committer (name, e-mail, seconds, offset), message,
//	touches (count, each: flags (1), blob (20, unless deleted), path)
//
// Counts and lengths are unsigned varints, times and offsets signed ones.
type row []byte

const (
	// rowIsHead: the head pointed at this commit. Everything up to it belongs
	// to one history; rows after the last such row are the beginning of a
	// batch that was never finished.
	rowIsHead = 1 << iota
	touchCreated
	touchDeleted
)

const (
	idBytes = object.IDLength / 2
	flagsAt = 2 * idBytes
)

func (r row) id() object.ID   { return object.ID(r[:idBytes]) }
func (r row) tree() object.ID { return object.ID(r[idBytes : 2*idBytes]) }
func (r row) isHead() bool    { return r[flagsAt]&rowIsHead != 0 }

// asHead returns the row with or without the mark of a head.
func (r row) asHead(head bool) row {
	if r.isHead() == head {
		return r
	}
	marked := slices.Clone(r)
	marked[flagsAt] ^= rowIsHead
	return marked
}

// parents returns the ids of the commit's parents.
func (r row) parents() []object.ID {
	d := repository.NewDecoder(r[flagsAt+1:])
	parents := make([]object.ID, 0, 1)
	for range d.Count() {
		parents = append(parents, idOf(d))
	}
	return parents
}

// headerOf encodes everything but the touches.
func headerOf(c repository.Commit, parents []object.ID) row {
	b := make(row, 0, 160+len(c.Message))
	b = appendID(b, c.SHA)
	b = appendID(b, c.Tree)
	b = append(b, 0)
	b = binary.AppendUvarint(b, uint64(len(parents)))
	for _, parent := range parents {
		b = append(b, parent[:]...)
	}
	b = repository.AppendSignature(b, c.Author)
	b = repository.AppendSignature(b, c.Committer)
	return encoding.AppendText(b, c.Message)
}

func (r row) withTouches(touches []repository.Touch) row {
	r = binary.AppendUvarint(r, uint64(len(touches)))
	for _, touch := range touches {
		var flags byte
		if touch.Created {
			flags |= touchCreated
		}
		if touch.Blob == "" {
			r = append(r, flags|touchDeleted)
		} else {
			r = appendID(append(r, flags), touch.Blob)
		}
		r = encoding.AppendText(r, touch.Path)
	}
	return slices.Clip(r)
}

// appendID adds an id, zeros for "". That it is an id has been checked.
func appendID(b row, text string) row {
	id := object.ParseID(text)
	return append(b, id[:]...)
}

// commit decodes the row. Touched holds the touches whose places are given.
func (r row) commit(sequence int64, places ...uint32) repository.Commit {
	d := repository.NewDecoder(r)
	commit := repository.Commit{SHA: d.ID(), Sequence: sequence}
	if tree := idOf(d); tree != (object.ID{}) {
		commit.Tree = tree.String()
	}
	d.Take(1)
	for i := range d.Count() {
		if parent := d.ID(); i == 0 {
			commit.Parent = parent
		}
	}
	commit.Author, commit.Committer = d.Signature(), d.Signature()
	commit.Message = string(d.Text())
	for _, place := range places {
		touch := repository.Touch{Created: r[place]&touchCreated != 0}
		if blob, exists := r.blobAt(place); exists {
			touch.Blob = blob.String()
		}
		touch.Path = string(skipTouch(repository.NewDecoder(r[place:])))
		commit.Touched = append(commit.Touched, touch)
	}
	return commit
}

// touches calls for each touch, with the path as it lies in the row and the
// touch's place.
func (r row) touches(each func(path []byte, place uint32)) error {
	d := repository.NewDecoder(r)
	skipHeader(d)
	for range d.Count() {
		place := len(r) - len(d.Bytes)
		path := skipTouch(d)
		if d.Bad {
			break
		}
		each(path, uint32(place))
	}
	if d.Bad || len(d.Bytes) > 0 || len(r) > math.MaxUint32 {
		return errRow
	}
	return nil
}

// places lists the places of all touches.
func (r row) places() []uint32 {
	var places []uint32
	_ = r.touches(func(_ []byte, place uint32) { places = append(places, place) }) // the row was decoded before
	return places
}

// blobAt is the blob of the touch at a place; false when it is a deletion.
func (r row) blobAt(place uint32) (object.ID, bool) {
	if r[place]&touchDeleted != 0 {
		return object.ID{}, false
	}
	return object.ID(r[place+1 : place+1+idBytes]), true
}

var errRow = errors.New("a row of the history is damaged")

// idOf reads an id, zeros for "".
func idOf(d *repository.Decoder) (id object.ID) {
	copy(id[:], d.Take(idBytes))
	return id
}

func skipHeader(d *repository.Decoder) {
	d.Take(flagsAt + 1)
	d.Take(d.Count() * idBytes)
	skipSignature(d)
	skipSignature(d)
	d.Text()
}

// skipSignature passes over a signature, of which nothing is made here.
func skipSignature(d *repository.Decoder) {
	d.Text()
	d.Text()
	d.Number()
	d.Number()
}

func skipTouch(d *repository.Decoder) (path []byte) {
	flags := d.Take(1)
	if flags != nil && flags[0]&touchDeleted == 0 {
		d.Take(idBytes)
	}
	return d.Text()
}
