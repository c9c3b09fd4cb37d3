package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/filelock"
	"svc.example/svc/shared/repository"
)

const (
	serveLock = "svc.lock"
	writeLock = "write.lock"
	writeTurn = "write.turn"

	// writeWait is how long an edit waits for others to finish theirs. Each
	// holds the lock for a flush or two.
	writeWait = 10 * time.Second
)

// lockFile takes a lock at once or returns filelock.ErrHeld. Its file stays when the
// lock is gone: removing it would let two processes lock two files of one name.
func (s filesystem) lockFile(path string) (*os.File, error) {
	if err := s.before(OpLock, path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.GiveToFolder(path); err != nil {
		f.Close()
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lockForWriting takes the write lock of a data directory, until a limit. The turn goes
// first: see the package comment.
func (s filesystem) lockForWriting(ctx context.Context, dir string, limit time.Time) (release func(), err error) {
	turn, err := s.awaitLock(ctx, filepath.Join(dir, writeTurn), limit)
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	lock, err := s.awaitLock(ctx, filepath.Join(dir, writeLock), limit)
	if err != nil {
		return nil, err
	}
	return func() { lock.Close() }, nil
}

const (
	// turnTime is for how long a server's writers may have the lock in a row, before it goes
	// to another process that waits.
	turnTime = 300 * time.Millisecond
	// forNext is how long it is kept for the next of them: who writes its objects meanwhile.
	forNext = 50 * time.Millisecond
	// forAgain is how long for one whose commit has to be decided again.
	forAgain = time.Second
)

// sharedLock is the write lock of a data directory, as those of one process share it: who
// is done keeps it for the next of them. Otherwise each commit would wait until other
// processes have edited the registry, and be decided again for it.
type sharedLock struct {
	turnTime time.Duration       // 0: it is never kept
	one      *semaphore.Weighted // held by who has the lock or waits for it, and for the rest
	release  func()              // of the lock that is kept; nil where none is
	since    time.Time           // when it was taken
	unused   *time.Timer
}

// take takes the lock by lock, unless it is kept. Who is done says for how long it is to be
// kept.
func (k *sharedLock) take(ctx context.Context, lock func(limit time.Time) (release func(), err error)) (done func(keep time.Duration), err error) {
	limit := time.Now().Add(writeWait)
	waiting, stop := context.WithDeadline(ctx, limit)
	defer stop()
	if err := k.one.Acquire(waiting, 1); err != nil {
		return nil, fmt.Errorf("waiting for other writers: %w", cmp.Or(ctx.Err(), repository.ErrBusy))
	}
	if k.release != nil {
		k.unused.Stop()
	} else if k.release, err = lock(limit); err != nil {
		k.one.Release(1)
		return nil, err
	} else {
		k.since = time.Now()
	}
	return func(keep time.Duration) {
		defer k.one.Release(1)
		if keep == 0 || time.Since(k.since) >= k.turnTime {
			k.drop()
			return
		}
		k.unused = time.AfterFunc(keep, k.letGo)
	}, nil
}

// letGo lets go of a lock that is kept and that nobody waits for.
func (k *sharedLock) letGo() {
	if k.one.TryAcquire(1) {
		defer k.one.Release(1)
		k.drop()
	}
}

func (k *sharedLock) drop() {
	if k.release != nil {
		k.release()
		k.release = nil
	}
}

func (s filesystem) awaitLock(ctx context.Context, path string, limit time.Time) (*os.File, error) {
	var lock *os.File
	err := poll(ctx, limit, func() (err error) {
		lock, err = s.lockFile(path)
		return err
	})
	if errors.Is(err, filelock.ErrHeld) {
		err = fmt.Errorf("%s stayed locked by another process: %w", path, repository.ErrBusy)
	}
	return lock, err
}

// polls are the waits between looks at a lock.
var polls = backoff.Backoff{First: 400 * time.Microsecond, Max: 10 * time.Millisecond}

// poll tries until the answer is something else than filelock.ErrHeld, or time is up.
func poll(ctx context.Context, limit time.Time, try func() error) error {
	for look := 0; ; look++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := try()
		if !errors.Is(err, filelock.ErrHeld) || !time.Now().Before(limit) {
			return err
		}
		if err := polls.Wait(ctx, look); err != nil {
			return err
		}
	}
}

// ErrServed: another process serves the data directory.
var ErrServed = errors.New("already served by another svc")

// releasing is how long a lock may be held that its owner has let go: a process
// that the owner is just starting has the file open until it runs its program.
const releasing = 300 * time.Millisecond

// lockToServe takes the lock that the process holds as long as it serves a
// data directory, and leaves its number in it for the message to others.
func (s filesystem) lockToServe(dir string) (*os.File, error) {
	path := filepath.Join(dir, serveLock)
	lock, err := s.awaitLock(context.Background(), path, time.Now().Add(releasing))
	if errors.Is(err, repository.ErrBusy) {
		return nil, fmt.Errorf("%s is %w%s: stop that one, or use another data directory", dir, ErrServed, s.holder(path))
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	// The number is a courtesy. Without it the lock is as good.
	if lock.Truncate(0) == nil {
		_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return lock, nil
}

func (s filesystem) holder(path string) string {
	content, err := s.read(path, 32)
	pid, bad := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || bad != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

// CheckLock is an error when the data directory's path does not lead to the directory
// that this process has locked, which another process may serve, or that of its repository
// not to the one that it has opened: what is written there is gone when the first comes back,
// and what is read is of another time.
func (l *Ledger) CheckLock() error {
	if l.locked != nil { // else it is being opened
		if same, err := leadsTo(l.lock, l.locked); !same {
			return unavailable(err, "the data directory was replaced by another one, or its "+serveLock+
				" was, while svc was running: nothing is read or written any more until svc is started again")
		}
	}
	return l.checkOpened(l.branch.git)
}

// checkOpened checks directories of the repository that were there when it was opened.
func (l *Ledger) checkOpened(dirs ...string) error {
	for _, dir := range dirs {
		opened := l.repository[dir]
		if opened == nil {
			continue
		}
		if same, err := leadsTo(dir, opened); !same {
			return unavailable(err, "the repository was replaced by another one while svc was running: nothing is read or written any more until svc is started again")
		}
	}
	return nil
}

func leadsTo(path string, opened os.FileInfo) (bool, error) {
	there, err := os.Stat(path)
	return err == nil && os.SameFile(opened, there), err
}

// step goes before each step on the file system. What changes something is refused where
// the directory is another one.
func (l *Ledger) step(op Operation, path string) error {
	switch op {
	case OpStat, OpRead, OpSync, OpSyncDir:
	default:
		if err := cmp.Or(l.CheckLock(), l.checkOpened(slices.Collect(maps.Keys(l.repository))...)); err != nil {
			return err
		}
	}
	if l.options.Step == nil {
		return nil
	}
	return l.options.Step(op, path)
}
