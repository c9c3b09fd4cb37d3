package object

import "fmt"

// malformed is an ErrMalformed in words of its own.
func malformed(format string, args ...any) error {
	return &malformation{fmt.Sprintf(format, args...)}
}

type malformation struct{ message string }

func (m *malformation) Error() string { return m.message }

func (m *malformation) Unwrap() error { return ErrMalformed }

// Read reads an object of any kind by its id.
type Read func(id ID) (Kind, []byte, error)

// ReadAs reads the content of an object that has to be of a kind.
func ReadAs(read Read, id ID, want Kind) ([]byte, error) {
	kind, content, err := read(id)
	if err != nil {
		return nil, err
	}
	if kind != want {
		return nil, malformed("object %s is a %s where a %s belongs", id, kind, want)
	}
	return content, nil
}

// ReadTree reads an object that has to be a tree.
func ReadTree(read Read, id ID) ([]TreeEntry, error) {
	content, err := ReadAs(read, id, TreeKind)
	if err != nil {
		return nil, err
	}
	entries, err := DecodeTree(content)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", id, err)
	}
	return entries, nil
}

// ReadCommit reads an object that has to be a commit.
func ReadCommit(read Read, id ID) (Commit, error) {
	content, err := ReadAs(read, id, CommitKind)
	if err != nil {
		return Commit{}, err
	}
	c, err := DecodeCommit(content)
	if err != nil {
		return c, fmt.Errorf("object %s: %w", id, err)
	}
	return c, nil
}
