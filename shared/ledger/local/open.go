package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/answers"
	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/database"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/table/bolt"
)

// RepositoryName is the bare repository's directory in a data directory.
const RepositoryName = "repository.git"

// Options are what a ledger may be given. All of them may be left out.
type Options struct {
	// Rewritten hears of a forced move of the head, before anybody sees the
	// new history. It must not call the ledger. Without it the loss is logged.
	Rewritten func(Rewrite)
	// Progress hears now and then how many commits of a walk are done.
	Progress func(commits int)
	// Step is asked before each step on the file system: to count the steps,
	// or to let one fail.
	Step func(Operation, string) error
}

// Ledger is the ledger of the workspace in a data directory. It implements
// repository.Ledger and control.Authenticator.
type Ledger struct {
	dir      string
	options  Options
	files    filesystem
	registry *Registry
	branch   reference
	objects  *disk.Objects
	// repository has the directories of that, as they were opened.
	repository map[string]fs.FileInfo
	serving    *os.File
	locked     fs.FileInfo // of serving
	lock       string      // its path
	cache      *cache
	database   *database.File
	answers    answers.Store
	history    atomic.Pointer[history]
	// begun: the branch has been there, so that it is gone when it is not.
	begun      atomic.Bool
	unreadable atomic.Pointer[unreadable]

	// writing is held while the head moves, or the history catches up with it.
	writing *semaphore.Weighted
}

// DatabaseIn is the file of a data directory that holds what is looked up one by one.
func DatabaseIn(dir string) *database.File { return database.New(filepath.Join(dir, "svc.db")) }

func answersIn(file *database.File) answers.Store { return answers.Store{Table: bolt.New(file)} }

// Open opens a data directory to serve it. One that does not exist yet is
// fs.ErrNotExist. Only one process at a time can have it open. The first time,
// and whenever the cache is missing, it walks through the whole history, until
// ctx ends.
func Open(ctx context.Context, dir string, options Options) (*Ledger, error) {
	if options.Rewritten == nil {
		options.Rewritten = func(w Rewrite) { slog.Error(w.String(), "old", w.Old, "new", w.New, "lost", w.Lost) }
	}
	l := &Ledger{dir: dir, lock: filepath.Join(dir, serveLock), options: options, database: DatabaseIn(dir), writing: semaphore.NewWeighted(1)}
	l.database.Guard, l.answers = l.CheckLock, answersIn(l.database)
	files := filesystem{step: l.step}
	l.files = files
	l.registry = newRegistry(files, dir)
	l.registry.shared.turnTime = turnTime
	l.branch = newBranch(files, filepath.Join(dir, RepositoryName))
	l.cache = &cache{files: files, path: filepath.Join(dir, cacheName)}
	if err := l.open(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Ledger) open(ctx context.Context) (err error) {
	if _, err := os.Stat(filepath.Join(l.dir, registryName)); err != nil {
		return fmt.Errorf("%s holds no workspace: %w", l.dir, err)
	}
	if _, err := l.registry.current(); err != nil {
		return err // before anything is touched
	}
	if err := refuseForeign(l.dir); err != nil {
		return err
	}
	if err := l.checkWritable(); err != nil {
		return err
	}
	if l.serving, err = l.files.lockToServe(l.dir); err != nil {
		return err
	}
	if l.locked, err = l.serving.Stat(); err != nil {
		return err
	}
	if err := makePrivate(l.dir); err != nil {
		return err
	}
	if err := l.openRepository(ctx); err != nil {
		return err
	}
	h := l.cache.load()
	if h == nil {
		h = newHistory(1)
		l.logWarn(l.cache.reset(h.base, nil))
	}
	h = l.untilReadable(ctx, h)
	l.history.Store(h)
	l.begun.Store(headOf(h).Commit != "" || l.branch.hasPacks())
	err = l.catchUp(ctx)
	if reason := (*repository.Unavailable)(nil); errors.As(err, &reason) {
		if l.unreadable.Load() == nil { // else it was logged
			slog.Error(reason.Message)
		}
		return nil // each request says so, until somebody has mended it
	}
	return err
}

func (l *Ledger) openRepository(ctx context.Context) (err error) {
	if err := checkRepository(l.branch.git); err != nil {
		return err
	}
	if l.objects, err = disk.Open(l.branch.git); err != nil {
		return err
	}
	opened := map[string]fs.FileInfo{}
	for _, part := range []string{"", "objects", odb.PackFolder} {
		dir := filepath.Join(l.branch.git, part)
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // git does without
		}
		if err != nil {
			return err
		}
		opened[dir] = info
	}
	l.repository = opened
	l.logWarn(l.objects.IndexAgain(ctx, true))
	release, err := l.files.lockForWriting(ctx, l.dir, time.Now().Add(writeWait))
	if err != nil {
		return err
	}
	defer release()
	if err := l.branch.recover(); err != nil {
		return err
	}
	// The process that moved the head last may have been killed before this. With all
	// branches packed there may be no folder, and git has flushed them.
	if err := l.files.syncDir(l.branch.path(path.Dir(branch))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("flushing the head: %w", err)
	}
	return nil
}

// checkRepository refuses what would go wrong later in a less clear way.
func checkRepository(git string) error {
	if _, err := os.Stat(filepath.Join(git, "shallow")); err == nil {
		return fmt.Errorf("%s is a shallow clone, which lacks a part of its history: git fetch --unshallow completes it", git)
	}
	if _, err := os.Stat(filepath.Join(git, "reftable")); err == nil {
		return fmt.Errorf("%s keeps its references in the format reftable: git refs migrate --ref-format=files makes them files", git)
	}
	return nil
}

// checkWritable refuses at the start what every write would fail at.
func (l *Ledger) checkWritable() error {
	for _, folder := range []string{l.dir, l.branch.git, l.branch.path(odb.PackFolder), l.branch.path(path.Dir(branch))} {
		if err := canWrite(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w; the user who runs svc has to be able to write the data directory %s and all that is in it", folder, err, l.dir)
		}
	}
	return nil
}

// makePrivate takes from others what rights they have been given: the registry
// holds the secret that signs cursors.
func makePrivate(dir string) error {
	for path, mode := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, registryName): registryMode} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(path, mode); err != nil {
			return fmt.Errorf("others may read %s, and that could not be changed: %w", path, err)
		}
	}
	return nil
}

// Registry is the workspace's keys and principals.
func (l *Ledger) Registry() *Registry { return l.registry }

// Database is the file of what is looked up one by one. It is written only as long as the
// directory is the one that this ledger has locked.
func (l *Ledger) Database() *database.File { return l.database }

// Objects are the repository's objects.
func (l *Ledger) Objects() *disk.Objects { return l.objects }

// Repository is the directory of the bare repository.
func (l *Ledger) Repository() string { return l.branch.git }

// Close lets go of the data directory. An index of several packs that git has written at the
// last moment is left only if it holds: nobody else would look.
func (l *Ledger) Close() error {
	if l.objects != nil && l.CheckLock() == nil {
		l.logWarn(l.objects.DropStaleMultiPack(context.Background()))
	}
	l.registry.shared.letGo()
	l.cache.close()
	err := errors.Join(l.registry.Close(), l.branch.loose.Close())
	if l.serving != nil {
		err = errors.Join(err, l.serving.Close())
	}
	return err
}

// Create makes a directory that nobody else uses yet the data directory of a workspace
// without commits, principals and keys; Install gives it its place. One that has a
// workspace is fs.ErrExist.
func Create(dir string, w access.Workspace) error {
	if err := w.Check(); err != nil {
		return err
	}
	text, err := encodeRegistry(nil, access.NewState(w))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := (filesystem{}).create(filepath.Join(dir, registryName), text, registryMode); err != nil {
		return fmt.Errorf("creating a workspace: %w", err)
	}
	if _, err := disk.Init(filepath.Join(dir, RepositoryName)); err != nil {
		return fmt.Errorf("creating the repository: %w", err)
	}
	return nil
}

// Install moves a data directory to where it belongs, once it is filled. What
// was put into its files has to be flushed; their names are flushed here, so
// that a power cut leaves all of it or nothing.
func Install(from, to string) error { return filesystem{}.install(from, to) }

func (s filesystem) install(from, to string) error {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = atomicfile.GiveToFolder(path)
		}
		if err != nil || !entry.IsDir() {
			return err
		}
		return s.syncDir(path)
	})
	if err != nil {
		return err
	}
	if err := s.rename(from, to); err != nil {
		return err
	}
	return s.syncDir(filepath.Dir(filepath.Clean(to)))
}
