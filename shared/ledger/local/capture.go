package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/requestid"
)

// Captured is what a data directory held at one moment, for a backup: the head and
// git's other references, the registry without what people are signed in by, its audit
// trail and the last uses of keys.
// Git's objects are not in it. They are only added to, so that a copy of them
// that is made after the capture has all that the references need.
type Captured struct {
	Registry   access.State
	References []Reference
	Files      []CapturedFile
	audit      *os.File
}

// CapturedFile is a file as a data directory has it, by its path there.
type CapturedFile struct {
	Name    string
	Size    int64
	Content io.Reader
}

// packedRefs is the one file that a backup has git's references in.
const packedRefs = RepositoryName + "/packed-refs"

// CapturedFiles are the files that Captured can hold, with the most bytes that each
// may have.
func CapturedFiles() map[string]int64 {
	return map[string]int64{registryName: maxRegistry, AnswersName: maxAnswers, auditName: maxAudit, usedName: maxUsed, packedRefs: maxPacked}
}

// Capture reads a data directory that another process may be serving. It holds the
// write lock, so that all of it is of one moment: every commit and every change of a
// key that anybody was told of before is in it, and none of which something is
// missing. Writers wait meanwhile for as long as reading some small files takes.
func Capture(ctx context.Context, dir string) (*Captured, error) {
	registry, err := OpenRegistry(dir)
	if err != nil {
		return nil, err
	}
	defer registry.Close()
	git := filepath.Join(dir, RepositoryName)
	if err := checkRepository(git); err != nil {
		return nil, err
	}
	c := &Captured{}
	if err := c.fill(ctx, registry, dir, git); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Captured) fill(ctx context.Context, registry *Registry, dir, git string) error {
	release, err := registry.files.lockForWriting(ctx, dir, time.Now().Add(writeWait))
	if err != nil {
		return fmt.Errorf("waiting for writers: %w", err)
	}
	defer release()
	if _, err := MainOf(git); err != nil {
		return err // which says what is wrong with a head that is lost
	}
	if c.References, err = (reference{git: git}).all(); err != nil {
		return err
	}
	current, err := registry.current()
	if err != nil {
		return err
	}
	c.Registry = current.State
	// Who has signed in signs in again: a session that was ended since would be live.
	c.Registry.Keys = slices.DeleteFunc(slices.Clone(c.Registry.Keys), func(k access.KeyRecord) bool { return k.Kind.SignsIn() })
	text := current.text
	if len(c.Registry.Keys) < len(current.State.Keys) {
		if text, err = encodeRegistry(current, c.Registry); err != nil {
			return err
		}
	}
	c.add(registryName, text)
	c.add(packedRefs, encodeReferences(c.References))
	used, err := registry.files.read(filepath.Join(dir, usedName), maxUsed)
	if err == nil {
		c.add(usedName, used)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.addAnswers(ctx, dir); err != nil {
		return err
	}
	// Only ever appended to: as many bytes as there are now are read later.
	c.audit, err = registry.files.open(filepath.Join(dir, auditName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := c.audit.Stat()
	if err == nil {
		c.Files = append(c.Files, CapturedFile{auditName, info.Size(), io.LimitReader(c.audit, info.Size())})
	}
	return err
}

// AnswersName is the file that a backup has the requests in that may be sent again: a
// repository.Answered as JSON on each line.
const (
	AnswersName = "answers.jsonl"
	maxAnswers  = 1 << 30
)

func (c *Captured) addAnswers(ctx context.Context, dir string) error {
	records, err := answersIn(DatabaseIn(dir)).All(ctx, time.Now())
	if err != nil || len(records) == 0 {
		return err
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for _, r := range records {
		if err := lines.Encode(r); err != nil {
			return err
		}
	}
	c.add(AnswersName, text.Bytes())
	return nil
}

// RestoreAnswers puts the file of a backup, which lies in a directory that nobody has open
// yet, where svc api has what it tells.
func RestoreAnswers(ctx context.Context, dir string) error {
	path := filepath.Join(dir, AnswersName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var records []repository.Answered
	for lines := json.NewDecoder(f); ; {
		var r repository.Answered
		err := lines.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || !requestid.Valid(r.ID) || !requestid.Valid(r.Request) || !isID(r.Commit) {
			return fmt.Errorf("%s, after %d requests: this is none", AnswersName, len(records))
		}
		records = append(records, r)
	}
	if err := answersIn(DatabaseIn(dir)).Put(ctx, records...); err != nil {
		return err
	}
	return os.Remove(path)
}

func (c *Captured) add(name string, content []byte) {
	c.Files = append(c.Files, CapturedFile{name, int64(len(content)), bytes.NewReader(content)})
}

// Close lets go of the files.
func (c *Captured) Close() error {
	if c.audit == nil {
		return nil
	}
	return c.audit.Close()
}

// Head is the commit that the branch main names, "" before the first one.
func (c *Captured) Head() string { return idOf(c.References, branch) }
