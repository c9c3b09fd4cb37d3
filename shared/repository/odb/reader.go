package odb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// ErrNoObject: neither a pack nor a loose file holds an object of that id, as
// far as they could be read. An object.Lost is more: the file system did not
// fail.
var ErrNoObject = errors.New("no such object")

// Reader reads several objects, for a walk through history or a tree. On a disk
// it keeps the packs open that it has read from, elsewhere what it has fetched
// of them, and everywhere the bases of deltas, each up to a bound. It is not safe
// for concurrent use.
type Reader struct {
	ctx     context.Context
	objects *Objects
	files   map[string]pack.Bytes // by the pack's name
	fetched extents
	deltas  *pack.Resolver
}

// maxOpen bounds the packs that are open at once.
const maxOpen = 64

// Reader begins a walk, which ends with the context. The caller closes it.
func (o *Objects) Reader(ctx context.Context) *Reader {
	r := &Reader{ctx: ctx, objects: o, files: map[string]pack.Bytes{}, fetched: extents{byPack: map[string][]extent{}}}
	r.deltas = pack.NewResolver(r.local)
	if o.ranger != nil {
		r.deltas = pack.NewResolver(r.remote)
	}
	return r
}

// MaxBlob lets the walk read blobs of up to so many bytes, where what lies
// outside the layout is read too.
func (r *Reader) MaxBlob(most int64) { r.deltas.MaxBlob = most }

// Close lets go of what the walk has opened.
func (r *Reader) Close() {
	for _, f := range r.files {
		_ = f.Close() // it was only read
	}
	clear(r.files)
}

// rounds is how often the packs that hold an object may be replaced while it is
// looked for.
const rounds = 3

// Read returns the kind and content of the object of an id, wherever it lies.
// One that is not there or damaged is an object.Lost, unless the file system
// fails, which is ErrNoObject with what failed; one that is too large to be read
// is an object.TooLarge.
func (r *Reader) Read(id object.ID) (object.Kind, []byte, error) {
	var damaged error
	for range rounds {
		if err := r.ctx.Err(); err != nil {
			return "", nil, err
		}
		seen := r.objects.packs.asked.Load()
		for _, read := range []object.Read{r.packed, r.loose} {
			kind, content, err := read(id)
			switch {
			case err == nil:
				return kind, content, nil
			case isTransient(r.ctx, err):
				return "", nil, err
			case !errors.Is(err, errNotThere):
				damaged = errors.Join(damaged, err)
			}
		}
		if errors.As(damaged, new(*object.TooLarge)) {
			return "", nil, damaged
		}
		if err := r.objects.refresh(r.ctx, seen); err != nil {
			return "", nil, err
		}
	}
	seen, lost := r.objects.packs.list.Load(), &object.Lost{ID: id, Cause: ErrNoObject}
	if damaged = errors.Join(damaged, seen.broken); damaged != nil {
		lost.Cause, lost.Damaged = errors.Join(ErrNoObject, damaged), true
	}
	if failed(damaged) {
		return "", nil, fmt.Errorf("object %s: %w", id, lost.Cause)
	}
	return "", nil, lost
}

// failure is an error of a file system that is no disk, whose errors are fs.PathErrors.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// failed reports whether a file system failed: what was not read is not damaged.
func failed(err error) bool {
	return errors.As(err, new(failure)) || errors.As(err, new(*fs.PathError))
}

// errNotThere says that no pack, or no loose file, is known to hold an object.
var errNotThere = errors.New("not there")

// packed reads an object from the packs that are known. One that holds it and
// cannot be read is no reason not to look into the others.
func (r *Reader) packed(id object.ID) (object.Kind, []byte, error) {
	var damaged error
	for _, p := range r.objects.Packs() {
		offset, found := p.Index.Find(id)
		if !found {
			continue
		}
		length := int64(0)
		if r.objects.ranger != nil {
			length = p.length(offset)
		}
		kind, content, err := r.at(p, id, offset, length)
		switch {
		case err == nil:
			return kind, content, nil
		case isTransient(r.ctx, err):
			return "", nil, err
		case !errors.Is(err, fs.ErrNotExist): // else it was merged or collected
			damaged = errors.Join(damaged, err)
		}
	}
	return "", nil, cmp.Or(damaged, errNotThere)
}

// at returns the object at an offset of a pack, if that is the one named. A
// length of 0 is one that is not known.
func (r *Reader) at(p *Pack, id object.ID, offset, length int64) (object.Kind, []byte, error) {
	kind, content, err := r.deltas.Object(p.Name, p.Index, id, offset, length)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", PackPath(p.Name, ".pack"), err)
	}
	return kind, content, nil
}

// local reads what lies at an offset of a pack on a disk, as it lies.
func (r *Reader) local(name string, offset, length int64, most func(pack.Header) int64) (pack.Header, []byte, error) {
	f, err := r.openPack(name)
	if err != nil {
		return pack.Header{}, nil, err
	}
	return pack.Read(f, offset, length, most)
}

func (r *Reader) openPack(name string) (pack.Bytes, error) {
	if f, ok := r.files[name]; ok {
		return f, nil
	}
	f, err := r.objects.opener.Open(PackPath(name, ".pack"))
	if err == nil {
		if len(r.files) == maxOpen {
			r.Close()
		}
		r.files[name] = f
	}
	return f, err
}

// How much is fetched where it is not known how much an object takes.
const (
	firstGuess  = 64 << 10
	guessGrowth = 16
	maxLength   = 65 << 20 // compressed; what is larger is larger than is read
	// maxUnasked is more than a document takes, compressed. What takes more is
	// fetched once its header has said how large it is.
	maxUnasked = 2 << 20
)

// remote is local where each read is a request.
func (r *Reader) remote(name string, offset, length int64, most func(pack.Header) int64) (pack.Header, []byte, error) {
	if p := r.objects.packs.named(name); length == 0 && p != nil {
		length = p.length(offset)
	}
	ask, last := cmp.Or(length, firstGuess), cmp.Or(length, maxLength)
	if e, ok := r.fetched.find(name, offset, 1); ok {
		ask = e.end() - offset // which may be all of it
	} else if ask > maxUnasked {
		ask = firstGuess
	}
	for {
		e, err := r.fetch(name, offset, ask)
		if err != nil {
			return pack.Header{}, nil, err
		}
		h, content, err := pack.Read(e, offset, length, most)
		cutOff := errors.Is(err, io.ErrUnexpectedEOF) && e.end()-offset >= ask
		if !cutOff || ask >= last {
			return h, content, err
		}
		if ask = max(ask*guessGrowth, firstGuess); length > 0 || ask > last {
			ask = last
		}
	}
}

// readText is Read for package repository, which puts a stand-in in the place of
// a text that is lost. What lies in a bucket is never told to be lost: the
// stand-in would stay in stored snapshots when the object is back.
func (r *Reader) readText(id object.ID) (object.Kind, []byte, error) {
	kind, content, err := r.Read(id)
	if lost := (*object.Lost)(nil); r.objects.ranger != nil && errors.As(err, &lost) {
		err = fmt.Errorf("object %s: %w", id, lost.Cause)
	}
	return kind, content, err
}

// Blob implements repository.Objects. Packs are merged and collected: that a
// blob is not where it was said to lie is no error.
func (o *Objects) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := o.Reader(ctx)
	defer r.Close()
	if !object.IsID(touch.Blob) {
		return nil, fmt.Errorf("%q is no object id", touch.Blob)
	}
	id := object.ParseID(touch.Blob)
	if object.IsID(touch.Pack) && touch.Offset > 0 {
		p := o.packs.named(touch.Pack)
		if p == nil {
			p = &Pack{Name: touch.Pack} // another process has stored it
		}
		err := r.fetchWithBase(touch)
		if err == nil {
			var kind object.Kind
			var content []byte
			if kind, content, err = r.at(p, id, touch.Offset, touch.Length); err == nil && kind == object.Blob {
				return content, nil
			}
		}
		if isTransient(ctx, err) {
			return nil, err // it may well be there
		}
	}
	return object.ReadAs(r.readText, id, object.Blob)
}

// fetchWithBase fetches an object at once with what it is a difference from.
func (r *Reader) fetchWithBase(touch repository.Touch) error {
	from, length := touch.Offset-touch.Base, touch.Base+touch.Length
	if r.objects.ranger == nil || touch.Base <= 0 || from <= 0 || touch.Length <= 0 || length > largestRead {
		return nil
	}
	_, err := r.fetch(touch.Pack, from, length)
	return err
}

// Tree implements repository.Objects.
func (o *Objects) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	r := o.Reader(ctx)
	defer r.Close()
	if o.opener != nil {
		return repository.ReadTree(ctx, head, r.readText, nil, o.most)
	}
	return repository.ReadTree(ctx, head, r.readText, r.prefetch, o.most)
}

// prefetch fetches blobs that are read next, those that lie close together with
// one request. What cannot be read now is read, and explained, when its turn
// comes. Those of a tree that is too large are fetched only so far that reading
// them shows it.
func (r *Reader) prefetch(blobs []object.ID) {
	var all []wanted
	var sum int64
	for _, id := range blobs {
		p := r.objects.packs.find(id)
		if p == nil {
			continue
		}
		if place, _ := p.Place(id); place.Length > 0 && place.Length <= maxUnasked {
			all = append(all, wanted{p.Name, place.Offset, place.Length})
			if sum += place.Length; r.objects.most > 0 && sum > r.objects.most {
				break
			}
		}
	}
	r.fetchAll(joined(all))
}
