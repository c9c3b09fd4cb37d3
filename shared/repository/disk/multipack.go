package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"svc.example/svc/shared/repository/odb"
)

// multiPack is the file in which git indexes several packs together. Git looks for an
// object in the one pack that the file names for it, and deletes packs for which it
// names no object; so a pack that it names is left to git.
const multiPack = "multi-pack-index"

const maxMultiPackNames = 64 << 20

// inMultiPack are the names of the packs that git's multi-pack-index covers.
func (o *Objects) inMultiPack() (map[string]bool, error) {
	path := odb.PackFolder + "/" + multiPack
	f, err := o.store.files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := readMultiPack(f)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (git multi-pack-index verify), so that no packs are merged; git works without this file: %w", path, err)
	}
	return names, nil
}

// readMultiPack reads the chunk PNAM, which holds the names of the packs' indexes, each
// ended by a zero: see gitformat-pack(5).
func readMultiPack(f io.ReaderAt) (map[string]bool, error) {
	const header, entry = 12, 12 // bytes
	head := make([]byte, header)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	if string(head[:4]) != "MIDX" {
		return nil, errors.New("it does not begin with MIDX")
	}
	chunks := make([]byte, entry*(int(head[6])+1)) // the last entry tells where the one before it ends
	if _, err := f.ReadAt(chunks, header); err != nil {
		return nil, err
	}
	for ; len(chunks) > entry; chunks = chunks[entry:] {
		if string(chunks[:4]) != "PNAM" {
			continue
		}
		begin, end := binary.BigEndian.Uint64(chunks[4:]), binary.BigEndian.Uint64(chunks[entry+4:])
		if end < begin || end-begin > maxMultiPackNames {
			return nil, errors.New("its list of packs has an impossible length")
		}
		list := make([]byte, end-begin)
		if _, err := f.ReadAt(list, int64(begin)); err != nil {
			return nil, err
		}
		names := map[string]bool{}
		for name := range bytes.SplitSeq(list, []byte{0}) {
			if stem, _, found := strings.Cut(string(name), "."); found {
				names[strings.TrimPrefix(stem, "pack-")] = true
			}
		}
		return names, nil
	}
	return nil, errors.New("it has no list of packs")
}

// DropStaleMultiPack deletes a multi-pack-index that names packs which are gone: git can
// not read the objects that it looks for there, and makes a new one at its next
// maintenance. It comes about where git has listed the packs before Compact deleted
// some, and writes the file after that.
func (o *Objects) DropStaleMultiPack(ctx context.Context) error {
	named, err := o.inMultiPack()
	if err != nil || len(named) == 0 {
		return err
	}
	files, err := o.store.ReadDir(ctx, odb.PackFolder)
	if err != nil {
		return err
	}
	for _, s := range odb.StoredIn(files) {
		delete(named, s.Name)
	}
	if len(named) == 0 {
		return nil
	}
	var problems []error
	for _, f := range files {
		if !f.IsDir() && strings.HasPrefix(f.Name(), multiPack) && !strings.HasSuffix(f.Name(), ".lock") {
			problems = append(problems, o.removeFile(odb.PackFolder+"/"+f.Name()))
		}
	}
	return errors.Join(problems...)
}

// removeFile deletes a file; one that is gone is no error.
func (o *Objects) removeFile(path string) error {
	if err := o.store.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
