package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// Objects are the objects of one bare repository.
type Objects struct {
	fs files

	changing sync.Mutex // held while the listing changes
	seen     atomic.Pointer[listing]

	guarding sync.Mutex
	guarded  map[string]bool // packs whose .keep is ours

	compacting sync.Mutex
	owner      string // in the names of the files that are being written
}

const (
	packFolder = "objects/pack"
	branch     = "refs/heads/main"
)

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
	folders := []string{"objects/info", packFolder, "refs/heads", "refs/tags"}
	for _, folder := range folders {
		if err := files.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	// HEAD last: it is what makes the directory a repository.
	for _, file := range []struct{ name, text string }{{"config", settings}, {"HEAD", "ref: " + branch + "\n"}} {
		if err := write(files, 0o644, newFile{file.name, []byte(file.text)}); err != nil {
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
	if _, err := files.Stat(packFolder); errors.Is(err, fs.ErrNotExist) {
		err := errors.Join(files.MkdirAll(packFolder, 0o755), flushFolder(files, "objects"))
		if err != nil {
			return nil, err
		}
	}
	o := &Objects{fs: files, guarded: map[string]bool{}, owner: rand.Text()}
	o.seen.Store(&listing{})
	return o, o.scan()
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
