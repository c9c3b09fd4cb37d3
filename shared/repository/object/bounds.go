package object

import "fmt"

// How many bytes an object may have to be read. Who may push decides what lies
// in a repository, and a pack of 1 MB can hold a blob of 600 MB, so a size is
// looked at before anything is inflated.
const (
	MaxBlob   = 1<<20 + 3 // a document (document.MaxSize) and a byte order mark
	MaxTree   = 16 << 20  // some 200,000 files in one folder
	MaxCommit = 1 << 20
)

// Max is the bound on a kind of object.
func Max(kind Kind) int64 {
	switch kind {
	case TreeKind:
		return MaxTree
	case Blob:
		return MaxBlob
	}
	return MaxCommit
}

// TooLarge says that an object is there and was not read.
type TooLarge struct {
	ID   ID
	Size int64 // 0: not the object is too large, but what has to be unpacked for it
	Max  int64
}

// Lost says of an object that it is not to be had, for certain: nothing failed
// while it was looked for and read.
type Lost struct {
	ID    ID
	Cause error // what wraps it; Damaged says which of the two it is
	// Damaged: there is something in its place. Else it is not there.
	Damaged bool
}

func (e *Lost) Error() string { return fmt.Sprintf("object %s: %s", e.ID, e.Cause) }

func (e *Lost) Unwrap() error { return e.Cause }

// Why says it for people.
func (e *Lost) Why() string {
	if e.Damaged {
		return fmt.Sprintf("object %s is damaged in the repository", e.ID)
	}
	return fmt.Sprintf("object %s is not in the repository", e.ID)
}

func (e *TooLarge) Error() string {
	if e.Size == 0 {
		return fmt.Sprintf("object %s is stored as too long or too large a chain of deltas to be read (git repack -adf --depth=50 mends that)", e.ID)
	}
	return fmt.Sprintf("object %s has %d bytes, and may have at most %d", e.ID, e.Size, e.Max)
}
