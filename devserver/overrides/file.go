package overrides

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

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/filelock"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/regularfile"
	"svc.example/svc/shared/statedir"
)

// File holds the overrides of a config directory in an environment.
type File struct {
	Path        string
	Datadir     string
	Environment string
	// DryRun has changes end before anything is written.
	DryRun bool
}

// Of is the file of a config directory and an environment. A directory that symbolic
// links lead to is the one that they lead to.
func Of(getenv func(string) string, datadir, environment string) (File, error) {
	dir, err := statedir.Of(getenv)
	if err != nil {
		return File{}, fmt.Errorf("there is no place to keep overrides: %w", err)
	}
	if real, err := filepath.EvalSymlinks(datadir); err == nil {
		datadir = real
	}
	return File{filepath.Join(dir, "overrides", statedir.Name(datadir, environment)+".json"), datadir, environment, false}, nil
}

const (
	maxBytes = 1 << 20
	// Max is how many overrides a directory and environment may have.
	Max = 1000
)

// content is the form of a file.
type content struct {
	Datadir     string     `json:"datadir"`
	Environment string     `json:"environment"`
	Overrides   []Override `json:"overrides"`
}

// Text is the file as it is; nil where there is none.
func (f File) Text() ([]byte, error) {
	file, err := regularfile.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, f.broken(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && len(text) > maxBytes {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, f.broken(err)
	}
	return text, nil
}

// Decode reads the text of a file, in the order in which overrides were set.
func (f File) Decode(text []byte) ([]Override, error) {
	if text == nil {
		return nil, nil
	}
	var c struct {
		Overrides []struct {
			Override
			Value json.RawMessage `json:"value"` // which may be null
		} `json:"overrides"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, f.broken(errors.New("it is not of the form that svc writes"))
	}
	all := make([]Override, len(c.Overrides))
	for i, stored := range c.Overrides {
		all[i] = stored.Override
		all[i].Value, _ = jsontree.Parse(stored.Value) // it is JSON, or missing
		if err := all[i].Check(); err != nil {
			return nil, f.broken(fmt.Errorf("overrides[%d]: %w", i, err))
		}
	}
	return all, nil
}

// Read reads the overrides, in the order in which they were set; none where there is
// no file.
func (f File) Read() ([]Override, error) {
	text, err := f.Text()
	if err != nil {
		return nil, err
	}
	return f.Decode(text)
}

func (f File) broken(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		err = wrapped.Err
	}
	return fmt.Errorf("the overrides in %s cannot be read: %w; svc override clear removes all of them", f.Path, err)
}

// Set puts an override in the place of the one of its key that is for the same
// contexts.
func (f File) Set(ctx context.Context, o Override) error {
	return f.change(ctx, func(all []Override) ([]Override, error) {
		all = slices.DeleteFunc(InForce(all, time.Now()), func(was Override) bool { return was.same(&o) })
		if len(all) >= Max {
			return nil, fmt.Errorf("there are %d overrides already; svc override clear removes some", len(all))
		}
		return append(all, o), nil
	})
}

// Clear removes the overrides of a key, and says how many there were.
func (f File) Clear(ctx context.Context, key string) (cleared int, err error) {
	return f.clear(ctx, func(o Override) bool { return o.Key == key })
}

// ClearOne removes the override of the same key for the same contexts.
func (f File) ClearOne(ctx context.Context, one Override) (cleared int, err error) {
	return f.clear(ctx, func(o Override) bool { return o.same(&one) })
}

func (f File) clear(ctx context.Context, is func(o Override) bool) (cleared int, err error) {
	err = f.change(ctx, func(all []Override) ([]Override, error) {
		all = InForce(all, time.Now())
		left := slices.DeleteFunc(slices.Clone(all), is)
		cleared = len(all) - len(left)
		return left, nil
	})
	return cleared, err
}

// ClearAll removes all overrides, also those that cannot be read.
func (f File) ClearAll(ctx context.Context) (cleared int, err error) {
	lock, err := f.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	all, _ := f.Read()
	return len(InForce(all, time.Now())), f.write(nil)
}

// patience is how long others are waited for who change overrides, which takes each
// of them some milliseconds.
const patience = 10 * time.Second

func (f File) lock(ctx context.Context) (io.Closer, error) {
	dir := filepath.Dir(f.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("overrides cannot be kept: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := filelock.Await(ctx, filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("another svc is changing overrides; try it again")
	}
	if err != nil {
		return nil, fmt.Errorf("overrides cannot be kept: %w", err)
	}
	return lock, nil
}

func (f File) change(ctx context.Context, with func([]Override) ([]Override, error)) error {
	lock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	all, err := f.Read()
	if err != nil {
		return err
	}
	if all, err = with(all); err != nil {
		return err
	}
	return f.write(all)
}

// write puts a file in the place of the one that is there, so that there is always a
// whole one; where there are no overrides there is no file.
func (f File) write(all []Override) error {
	if len(all) == 0 {
		if f.DryRun {
			return nil
		}
		if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("overrides cannot be removed: %w", err)
		}
		return nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(content{f.Datadir, f.Environment, all})
	if err == nil && text.Len() > maxBytes {
		err = fmt.Errorf("together they would have more than %d bytes", maxBytes)
	}
	if err == nil && !f.DryRun {
		err = atomicfile.ReplaceAt(f.Path, text.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("overrides cannot be kept: %w", err)
	}
	return nil
}
