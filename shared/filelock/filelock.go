// Package filelock has processes take turns, by a lock on a file that the system
// lets go when the file is closed, also when its process is killed.
//
// The file of a lock stays when the lock is gone: removing it would let two
// processes lock two files of one name.
package filelock

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/regularfile"
)

// ErrHeld is the error of Try where another process has the lock.
var ErrHeld = errors.New("the lock is held by another process")

// polls are the waits between looks at a lock.
var polls = backoff.Backoff{First: 400 * time.Microsecond, Max: 40 * time.Millisecond}

// Await takes the lock on the file of a path, which it makes if it is not there,
// once others have let go of it. It is let go by Close. Where ctx ends first the
// error is ErrHeld. What is there and no file, such as a link, is refused.
func Await(ctx context.Context, path string) (lock io.Closer, err error) {
	if err := regularfile.Check(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Wait(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Wait is Try once others have let go of the lock; ErrHeld where ctx ends first.
func Wait(ctx context.Context, f *os.File) error {
	for try := 0; ; try++ {
		if err := Try(f); !errors.Is(err, ErrHeld) || polls.Wait(ctx, try) != nil {
			return err
		}
	}
}
