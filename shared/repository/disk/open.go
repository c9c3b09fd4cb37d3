package disk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/config"

	"svc.example/svc/shared/repository/odb"
)

// Objects are the objects of one bare repository.
type Objects struct {
	*odb.Objects
	store *store

	compacting  sync.Mutex
	unmergeable map[string]bool // packs at which a merge failed
	unindexed   map[string]bool // packs that had no index at the last look
}

func objectsIn(files files) *Objects {
	s := &store{files: files, owner: rand.Text(), guarded: map[string]guarded{}}
	return &Objects{Objects: odb.New(s, nil), store: s, unmergeable: map[string]bool{}}
}

const branch = "refs/heads/main"

// settings of a new repository. Everything that git itself writes is flushed
// too; a push arrives as one pack, which Compact merges; nothing collects on
// its own in the middle of a request.
const settings = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	fsync = all
[gc]
	auto = 0
[transfer]
	unpackLimit = 1
`

// Init makes a directory an empty bare repository, durably. It is an error if
// it is a repository already.
func Init(dir string) (*Objects, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files, err := local(dir)
	if err != nil {
		return nil, err
	}
	return InitIn(files)
}

// InitIn is Init at the root of a file system.
func InitIn(files files) (*Objects, error) {
	if _, err := files.Stat("HEAD"); err == nil {
		return nil, fmt.Errorf("%s is a git repository already: %w", files.Root(), fs.ErrExist)
	}
	folders := []string{"objects/info", odb.PackFolder, "refs/heads", "refs/tags"}
	for _, folder := range folders {
		if err := files.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	// HEAD last: it is what makes the directory a repository.
	for _, file := range []struct{ name, text string }{{"config", settings}, {"HEAD", "ref: " + branch + "\n"}} {
		if err := write(files, file.name, file.text); err != nil {
			return nil, err
		}
	}
	for _, folder := range append(folders, "objects", "refs", ".") {
		if err := flushFolder(files, folder); err != nil {
			return nil, err
		}
	}
	return OpenIn(files)
}

// Open opens a repository: a bare one, or the .git directory of another.
func Open(dir string) (*Objects, error) {
	files, err := local(dir)
	if err != nil {
		return nil, err
	}
	return OpenIn(files)
}

// OpenIn is Open at the root of a file system. The file system's files have
// to have a method Sync; those of billy's osfs bound to a directory do.
func OpenIn(files files) (*Objects, error) {
	for _, name := range []string{"HEAD", "objects"} {
		if _, err := files.Stat(name); err != nil {
			return nil, fmt.Errorf("%s is no git repository: %w", files.Root(), err)
		}
	}
	if err := checkFormat(files); err != nil {
		return nil, fmt.Errorf("%s: %w", files.Root(), err)
	}
	if _, err := files.Stat(odb.PackFolder); errors.Is(err, fs.ErrNotExist) {
		err := errors.Join(files.MkdirAll(odb.PackFolder, 0o755), flushFolder(files, "objects"))
		if err != nil {
			return nil, err
		}
	}
	o := objectsIn(files)
	return o, o.Refresh(context.Background())
}

// OpenStore opens a directory of objects that is no repository: what git has
// received and not taken yet, for example. It is only read.
func OpenStore(dir string) (*Objects, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	o := objectsIn(folder{root: dir, trim: "objects/"})
	if _, err := o.store.Stat(odb.PackFolder); errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	return o, o.Refresh(context.Background())
}

// write makes a new file and flushes it.
func write(files files, path, text string) error {
	f, err := files.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	return errors.Join(err, flush(f), f.Close())
}

// checkFormat refuses repositories whose objects lie where, or are named in a
// way, that this package does not understand.
func checkFormat(files files) error {
	if _, err := files.Stat("objects/info/alternates"); err == nil {
		return errors.New("objects/info/alternates borrows objects of another repository, which is not supported (git repack -ad, then delete that file)")
	}
	f, err := files.Open("config")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	settings := config.New()
	if err := config.NewDecoder(io.Reader(f)).Decode(settings); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if format := settings.Section("extensions").Option("objectformat"); format != "" && format != "sha1" {
		return fmt.Errorf("config: objects are named by %s; only sha1 is supported", format)
	}
	return nil
}
