package worktree

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/git"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// rewritten is a new content in the manner of the old one. A content that is not in
// the form in which documents are stored is what stood there once, to the byte.
func rewritten(old, content []byte) []byte {
	tree, err := document.Parse(content)
	if err != nil || !bytes.Equal(document.Encode(tree), content) {
		return content
	}
	text, marked := bytes.CutPrefix(old, byteOrderMark)
	made, err := jsontree.Rewrite(text, tree)
	if err != nil || len(made) > document.MaxSize { // what stood there was no JSON
		return content
	}
	if marked {
		made = append(bytes.Clone(byteOrderMark), made...)
	}
	return made
}

// writeError is why files were not written, as control takes it. The path is that of the
// first, for an error that names none of them.
func writeError(err error, path string) error {
	var at *fs.PathError
	if errors.As(err, &at) && filepath.IsLocal(at.Path) {
		path = at.Path
	}
	switch {
	case errors.Is(err, datadir.ErrChanged):
		return repository.ErrMoved
	case errors.Is(err, datadir.ErrFound), errors.As(err, new(*git.LedOut)):
		return fault.New(fault.Unprocessable, "%v", err)
	case errors.Is(err, datadir.ErrGit), errors.Is(err, datadir.ErrOutside):
		return fault.New(fault.Unprocessable, "the file %s cannot be written: %v", path, at.Err)
	case fault.IsFullDisk(err):
		return fault.New(fault.Unavailable, fault.FullDisk).Because(err)
	case errors.Is(err, datadir.ErrHeld), errors.Is(err, datadir.ErrHalf), errors.Is(err, datadir.ErrNoJournal):
		return fault.New(fault.Unavailable, "%v", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(19)): // ERROR_WRITE_PROTECT
		return fault.New(fault.Forbidden, "the file %s cannot be written: its directory or it is read-only", path).
			With(map[string]any{"code": "READ_ONLY"}).Because(err)
	case at != nil:
		return fault.New(fault.Internal, "the file %s cannot be written: %v", path, at.Err).Because(err)
	}
	return err
}
