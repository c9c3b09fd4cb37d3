package worktree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/filelock"
)

// answersOf is the file of the answers that are remembered of a directory, whatever
// environment is served of it: beside the user's overrides, and none of git's. It is ""
// where there is no place.
func answersOf(dir string, file *overrides.File) string {
	if file == nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(filepath.Dir(filepath.Dir(file.Path)), "answers", hex.EncodeToString(sum[:16])+".json")
}

// enter has servers of one directory take turns, and takes in what others remember.
func (o *once) enter(ctx context.Context) (leave func(), err error) {
	o.turn.Lock()
	if o.path == "" {
		return o.turn.Unlock, nil
	}
	if err = os.MkdirAll(filepath.Dir(o.path), 0o700); err != nil {
		return o.turn.Unlock, nil // and it is remembered here alone
	}
	ctx, cancel := context.WithTimeout(ctx, oncePatience)
	defer cancel()
	lock, err := filelock.Await(ctx, o.path+".lock")
	if errors.Is(err, filelock.ErrHeld) {
		o.turn.Unlock()
		return nil, fault.New(fault.Unavailable, "another server of the directory carries out a request under an Idempotency-Key; send it again")
	}
	if err != nil {
		return o.turn.Unlock, nil
	}
	o.takeIn()
	return func() { lock.Close(); o.turn.Unlock() }, nil
}

// oncePatience is how long others are waited for.
const oncePatience = 20 * time.Second

// takeIn adds what the file has. One that cannot be read has nothing.
func (o *once) takeIn() {
	f, err := os.Open(o.path)
	if err != nil {
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxAnswersFile+1))
	theirs := map[string]onceAnswer{}
	if err != nil || len(text) > maxAnswersFile || json.Unmarshal(text, &theirs) != nil {
		return
	}
	for key, answer := range theirs {
		if _, known := o.all[key]; !known {
			o.all[key] = answer
			o.order = append(o.order, key)
			o.bytes += len(answer.Body)
		}
	}
	slices.SortFunc(o.order, func(a, b string) int {
		return cmp.Or(o.all[a].Until.Compare(o.all[b].Until), cmp.Compare(a, b))
	})
	o.bound(time.Now())
}

// maxAnswersFile is more than the answers that are remembered take.
const maxAnswersFile = 4 * maxAnswerBytes

// save writes the file. Where that fails the answers are remembered here alone.
func (o *once) save() {
	if o.path == "" {
		return
	}
	text, err := json.Marshal(o.all)
	if err == nil {
		err = atomicfile.ReplaceAt(o.path, text, fs.FileMode(0o600))
	}
	if err != nil && o.logger != nil {
		o.logger.Warn("answers under an Idempotency-Key are forgotten when this server ends", "error", err)
	}
}

// nameOf is what a key is remembered by.
func nameOf(key string) string { return control.Digest([]byte(key)) }
