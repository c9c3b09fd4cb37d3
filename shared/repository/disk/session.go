package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/klauspost/compress/zlib"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// ErrNoObject: neither a pack nor a loose file holds an object of that id, as
// far as they could be read. An object.Lost is more: the disk did not fail.
var ErrNoObject = errors.New("no such object")

// Reader reads several objects, for a walk through history or a tree: it
// keeps the packs open that it has read from, and the bases of deltas. It is
// not safe for concurrent use.
type Reader struct {
	objects *Objects
	files   map[string]billy.File
	recent  *packFile // where the last object was found
	deltas  pack.Resolver
	failed  bool // the disk, since the last object was asked for
}

type content struct {
	kind object.Kind
	text []byte
}

// maxOpen bounds the packs that are open at once.
const maxOpen = 64

// Reader begins a walk. The caller closes it.
func (o *Objects) Reader() *Reader {
	s := &Reader{objects: o, files: map[string]billy.File{}}
	s.deltas.Entry = func(name string, offset, length int64, most func(pack.Header) int64) (pack.Header, []byte, error) {
		f, err := s.open(name)
		if err != nil {
			return pack.Header{}, nil, err
		}
		return pack.Read(f, offset, length, most)
	}
	return s
}

// MaxBlob lets the walk read blobs of up to so many bytes, where what lies
// outside the layout is read too.
func (s *Reader) MaxBlob(most int64) { s.deltas.MaxBlob = most }

// Close lets go of what the walk has opened.
func (s *Reader) Close() {
	for _, f := range s.files {
		_ = f.Close() // it was only read
	}
	clear(s.files)
}

// Read returns the kind and content of the object of an id, wherever it lies.
// One that is not there or damaged is an object.Lost, unless the disk fails, which
// is ErrNoObject with what failed; one that is too large to be read is an
// object.TooLarge.
func (s *Reader) Read(id string) (object.Kind, []byte, error) {
	c, err := s.read(id)
	return c.kind, c.text, err
}

func (s *Reader) read(id string) (content, error) {
	if !object.IsID(id) {
		return content{}, fmt.Errorf("%q is no object id", id)
	}
	var damaged error
	s.failed = false
	for range 3 { // a pack may be replaced while it is looked for
		c, err := s.fromPacks(id)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, errNotPacked) {
			damaged = errors.Join(damaged, err)
		}
		if c, err = s.loose(id); err == nil {
			return c, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			damaged = errors.Join(damaged, err)
		}
		if errors.As(damaged, new(*object.TooLarge)) {
			return content{}, damaged
		}
		if err := s.objects.scan(); err != nil {
			return content{}, err
		}
	}
	seen := s.objects.seen.Load()
	lost := &object.Lost{ID: id, Cause: ErrNoObject}
	if damaged = errors.Join(damaged, seen.broken); damaged != nil {
		lost.Cause, lost.Damaged = errors.Join(ErrNoObject, damaged), true
	}
	if s.failed || seen.failed {
		return content{}, fmt.Errorf("object %s: %w", id, lost.Cause)
	}
	return content{}, lost
}

// Size returns how many bytes an object has, by what its header says. It is for
// who has reason to think that the object is there: it is not looked for twice.
func (s *Reader) Size(id string) (int64, error) {
	s.failed = false
	var problems error
	for _, p := range s.objects.known() {
		offset, found := p.index.Find(plumbing.NewHash(id))
		if !found {
			continue
		}
		f, err := s.open(p.name)
		if err == nil {
			if _, size, err := pack.Size(f, offset); err == nil {
				return size, nil
			}
		}
		problems = errors.Join(problems, err)
	}
	f, err := s.openFile(loosePath(id))
	if err == nil {
		defer f.Close()
		if _, size, _, err := looseHeader(f); err == nil {
			return size, nil
		}
	}
	if s.failed {
		return 0, fmt.Errorf("object %s: %w", id, errors.Join(ErrNoObject, problems, err))
	}
	return 0, &object.Lost{ID: id, Cause: ErrNoObject, Damaged: !errors.Is(err, fs.ErrNotExist)}
}

// errNotPacked says that a pack holds no object of the id.
var errNotPacked = errors.New("not in the pack")

func (s *Reader) fromPacks(id string) (content, error) {
	if s.recent != nil {
		if c, err := s.fromPack(s.recent, id); err == nil {
			return c, nil
		}
	}
	var damaged error
	for _, p := range s.objects.known() {
		c, err := s.fromPack(p, id)
		if err == nil {
			s.recent = p
			return c, nil
		}
		if !errors.Is(err, errNotPacked) && !errors.Is(err, fs.ErrNotExist) {
			damaged = errors.Join(damaged, err)
		}
	}
	if damaged != nil {
		return content{}, damaged
	}
	return content{}, errNotPacked
}

func (s *Reader) fromPack(p *packFile, id string) (content, error) {
	offset, found := p.index.Find(plumbing.NewHash(id))
	if !found {
		return content{}, errNotPacked
	}
	return s.at(p, id, offset, 0)
}

// at returns the object at an offset of a pack, if that is the one named.
func (s *Reader) at(p *packFile, id string, offset, length int64) (content, error) {
	kind, text, err := s.deltas.Object(p.name, p.index, id, offset, length)
	if err != nil {
		return content{}, fmt.Errorf("%s: %w", packPath(p.name, ".pack"), err)
	}
	return content{kind, text}, nil
}

func (s *Reader) open(name string) (billy.File, error) {
	if f, ok := s.files[name]; ok {
		return f, nil
	}
	f, err := s.openFile(packPath(name, ".pack"))
	if err == nil {
		if len(s.files) == maxOpen {
			s.Close()
		}
		s.files[name] = f
	}
	return f, err
}

// openFile opens a file of which a failure to read is remembered, so that what
// was not read is not taken for damaged.
func (s *Reader) openFile(path string) (billy.File, error) {
	f, err := s.objects.fs.Open(path)
	if err != nil {
		s.failed = s.failed || !errors.Is(err, fs.ErrNotExist)
		return nil, err
	}
	return watched{f, &s.failed}, nil
}

type watched struct {
	billy.File
	failed *bool
}

func (w watched) Read(p []byte) (int, error) { return w.note(w.File.Read(p)) }

func (w watched) ReadAt(p []byte, at int64) (int, error) { return w.note(w.File.ReadAt(p, at)) }

func (w watched) note(n int, err error) (int, error) {
	*w.failed = *w.failed || err != nil && err != io.EOF
	return n, err
}

func loosePath(id string) string { return "objects/" + id[:2] + "/" + id[2:] }

// loose reads an object that git has not packed yet.
func (s *Reader) loose(id string) (content, error) {
	path := loosePath(id)
	f, err := s.openFile(path)
	if err != nil {
		return content{}, err
	}
	defer f.Close()
	c, err := decodeLoose(f, max(s.deltas.MaxBlob, object.MaxBlob))
	if large := (*object.TooLarge)(nil); errors.As(err, &large) {
		large.ID = id
	} else if err == nil && object.ID(c.kind, c.text) != id {
		err = errors.New("the content has another id")
	}
	if err != nil {
		return content{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// longestLooseHeader is more than a kind, a size and a NUL take.
const longestLooseHeader = 64

var errLooseHeader = errors.New("a loose object begins with its kind and its size")

// looseHeader reads what a loose object begins with. The rest is the content.
func looseHeader(f io.Reader) (kind object.Kind, size int64, rest io.Reader, err error) {
	z, err := zlib.NewReader(f)
	if err != nil {
		return "", 0, nil, err
	}
	r := bufio.NewReaderSize(z, longestLooseHeader)
	header, err := r.ReadSlice(0)
	if err != nil {
		return "", 0, nil, errLooseHeader
	}
	name, digits, _ := strings.Cut(strings.TrimSuffix(string(header), "\x00"), " ")
	size, err = strconv.ParseInt(digits, 10, 64)
	if err != nil || size < 0 {
		return "", 0, nil, errLooseHeader
	}
	return object.Kind(name), size, r, nil
}

// decodeLoose inflates an object, unless its header claims too much.
func decodeLoose(f io.Reader, maxBlob int64) (content, error) {
	kind, size, rest, err := looseHeader(f)
	if err != nil {
		return content{}, err
	}
	most := object.Max(kind)
	if kind == object.Blob {
		most = maxBlob
	}
	if size > most {
		return content{}, &object.TooLarge{Size: size, Max: most}
	}
	text, err := io.ReadAll(io.LimitReader(rest, size+1))
	if err == nil && int64(len(text)) != size {
		err = fmt.Errorf("the header says %d bytes, which the content is not", size)
	}
	return content{kind, text}, err
}
