package workspace

import (
	"bytes"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/jsontree"
)

// ReadServable is ReadEach for a workspace that is to be served: the problems
// are also those of Unservable and Circles, and that there is no room for all
// regular expressions. each may be nil.
func ReadServable(files map[string][]byte, each func(item *Item)) (*Workspace, []Problem) {
	r := reader{serving: true}
	r.read(files, each)
	return &r.ws, r.problems.all()
}

// Servable is ReadServable for a workspace that is read again and again: a file
// that is as it was is not. It has what was made of each document.
type Servable[T any] struct {
	maker func() func(item *Item) T
	known map[string]*made[T] // by path
	paths []string            // of those, in order
}

// made is what was made of a file.
type made[T any] struct {
	*part
	problems collector
	of       T
}

// NewServable reads workspaces. Maker gives what makes something of a document, of
// which it keeps nothing but strings: one for each goroutine, since many documents
// are read by several.
func NewServable[T any](maker func() func(item *Item) T) *Servable[T] {
	return &Servable[T]{maker: maker}
}

// Read reads a workspace, and tells what was made of its documents in the order of
// their keys.
func (s *Servable[T]) Read(files map[string][]byte, each func(made T)) (*Workspace, []Problem) {
	paths := s.paths
	another := func(path string) bool { _, there := files[path]; return !there }
	if len(paths) != len(files) || slices.ContainsFunc(paths, another) {
		paths = sortedPaths(files)
	}
	all := make([]*made[T], len(paths))
	var fresh []int
	for i, path := range paths {
		known := s.known[path]
		if known == nil || !bytes.Equal(known.text, files[path]) {
			fresh = append(fresh, i)
		}
		all[i] = known
	}
	type reading struct {
		make    func(item *Item) T
		scratch *jsontree.Scratch
	}
	readings := sync.Pool{New: func() any { return &reading{s.maker(), jsontree.NewScratch()} }}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for some := range slices.Chunk(fresh, 128) {
		group.Go(func() error {
			r := readings.Get().(*reading)
			defer readings.Put(r)
			for _, i := range some {
				m := &made[T]{}
				m.part = readPart(paths[i], files[paths[i]], r.scratch, &m.problems)
				m.serve(&m.problems)
				if m.item != nil {
					m.of, m.item = r.make(m.item), nil
				}
				all[i] = m
			}
			return nil
		})
	}
	_ = group.Wait() // nothing fails
	r := reader{serving: true}
	r.ws.Items = make([]Stored, 0, len(all))
	s.known, s.paths = make(map[string]*made[T], len(all)), paths
	for i, m := range all {
		s.known[paths[i]] = m
		r.problems.add(m.problems.all()...)
		r.put(m.part)
		if m.isItem {
			each(m.of)
		}
	}
	r.end()
	return &r.ws, r.problems.all()
}

// serve finds what else keeps a document from being served.
func (p *part) serve(problems *collector) {
	if p.item != nil {
		var found []Problem
		found, p.usable = Unservable(p.item)
		problems.add(found...)
	}
}
