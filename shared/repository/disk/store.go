package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// OpenStore opens a directory of objects that is no repository: what git has
// received and not taken yet, for example. It is only read.
func OpenStore(dir string) (*Objects, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	o := &Objects{fs: folder{root: dir, trim: "objects/", ChrootOS: osfs.Default}, guarded: map[string]bool{}}
	o.seen.Store(&listing{})
	if _, err := o.fs.Stat(packFolder); errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	return o, o.scan()
}

// Sizes tells the size of every object that lies here, without inflating one.
func (o *Objects) Sizes(tell func(id string, kind object.Kind, size int64) error) error {
	if broken := o.seen.Load().broken; broken != nil {
		return broken
	}
	for _, p := range o.known() {
		if err := o.sizesIn(p, tell); err != nil {
			return fmt.Errorf("%s: %w", packPath(p.name, ".pack"), err)
		}
	}
	return o.looseSizes(tell)
}

func (o *Objects) sizesIn(p *packFile, tell func(string, object.Kind, int64) error) error {
	f, err := o.fs.Open(packPath(p.name, ".pack"))
	if err != nil {
		return err
	}
	defer f.Close()
	sizes := make([]int64, p.index.Len())
	headers := make(map[int64]pack.Header, len(sizes)) // by offset
	for i := range sizes {
		if headers[p.index.Offset(i)], sizes[i], err = pack.Size(f, p.index.Offset(i)); err != nil {
			return err
		}
	}
	kinds := map[int64]object.Kind{}
	for i, size := range sizes {
		kind, err := kindAt(p.index, headers, kinds, p.index.Offset(i))
		if err == nil {
			err = tell(p.index.ID(i).String(), kind, size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kindAt is the kind of the object at an offset: that of what it is, in the end,
// a difference from. What is found on the way is kept.
func kindAt(index *pack.Index, headers map[int64]pack.Header, kinds map[int64]object.Kind, offset int64) (object.Kind, error) {
	var way []int64
	for at := offset; ; {
		h, there := headers[at]
		kind, known := kinds[at]
		switch {
		case !there || len(way) > len(headers):
			return "", fmt.Errorf("what lies at byte %d is a difference from something that is not in the pack", offset)
		case !known && !h.IsDelta():
			kind, known = object.Kind(h.Type.String()), true
		}
		way = append(way, at)
		if known {
			for _, passed := range way {
				kinds[passed] = kind
			}
			return kind, nil
		}
		if h.Type == plumbing.OFSDeltaObject {
			at -= h.Distance
		} else if at, there = index.Find(h.Base); !there {
			at = -1
		}
	}
}

// looseSizes looks at the folders of loose objects, of two digits each.
func (o *Objects) looseSizes(tell func(string, object.Kind, int64) error) error {
	for n := range 256 {
		folder := fmt.Sprintf("%02x", n)
		files, err := o.fs.ReadDir("objects/" + folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			id := folder + file.Name()
			if !object.IsID(id) {
				continue
			}
			kind, size, err := o.looseSize("objects/" + folder + "/" + file.Name())
			if err == nil {
				err = tell(id, kind, size)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Objects) looseSize(path string) (object.Kind, int64, error) {
	f, err := o.fs.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	kind, size, _, err := looseHeader(f)
	return kind, size, err
}
