package odb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// Sizes tells the size of every object on a disk, without inflating one.
func (o *Objects) Sizes(ctx context.Context, tell func(id object.ID, kind object.Kind, size int64) error) error {
	if broken := o.Broken(); broken != nil {
		return broken
	}
	for _, p := range o.Packs() {
		if err := o.sizesIn(p, tell); err != nil {
			return fmt.Errorf("%s: %w", PackPath(p.Name, ".pack"), err)
		}
	}
	return o.looseSizes(ctx, tell)
}

func (o *Objects) sizesIn(p *Pack, tell func(object.ID, object.Kind, int64) error) error {
	f, err := o.opener.Open(PackPath(p.Name, ".pack"))
	if err != nil {
		return err
	}
	defer f.Close()
	sizes := make([]int64, p.Index.Len())
	headers := make(map[int64]pack.Header, len(sizes)) // by offset
	for i := range sizes {
		if headers[p.Index.Offset(i)], sizes[i], err = pack.Size(f, p.Index.Offset(i)); err != nil {
			return err
		}
	}
	kinds := map[int64]object.Kind{}
	for i, size := range sizes {
		kind, err := kindAt(p.Index, headers, kinds, p.Index.Offset(i))
		if err == nil {
			err = tell(p.Index.ID(i), kind, size)
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
func (o *Objects) looseSizes(ctx context.Context, tell func(object.ID, object.Kind, int64) error) error {
	for n := range 256 {
		folder := fmt.Sprintf("%02x", n)
		files, err := o.fs.ReadDir(ctx, "objects/"+folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			if !object.IsID(folder + file.Name()) {
				continue
			}
			id := object.ParseID(folder + file.Name())
			kind, size, err := looseSize(o.opener.Open, loosePath(id))
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

func looseSize(open func(string) (pack.Bytes, error), path string) (object.Kind, int64, error) {
	f, err := open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	kind, size, _, err := looseHeader(io.NewSectionReader(f, 0, math.MaxInt64))
	return kind, size, err
}
