package local

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// watched is a file with a number in it, and the watch of its folder.
func watched(t *testing.T) (*watch, *replaced[int], string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "folder")
	must(t, os.Mkdir(folder, 0o700))
	file := filepath.Join(folder, "number")
	must(t, os.WriteFile(file, []byte("0"), 0o600))
	w := newWatch(folder)
	if w == nil {
		t.Skip("temporary files lie on a file system that is not watched")
	}
	r := &replaced[int]{path: file, limit: 100, decode: func(text []byte) (int, error) { return strconv.Atoi(string(text)) }}
	t.Cleanup(func() { w.Close(); r.Close() })
	return w, r, file
}

// TestNobodyIsToldLate: whoever asks after a file has been replaced finds it so,
// while others replace it and others ask.
func TestNobodyIsToldLate(t *testing.T) {
	w, r, file := watched(t)
	var written atomic.Int64
	var readers, writer sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				least := written.Load()
				if found, err := r.at(w.current()); err != nil || int64(found) < least {
					t.Errorf("%d, %v was read after %d had been written", found, err, least)
					return
				}
			}
		})
	}
	writer.Go(func() {
		for n := 1; n <= 1500; n++ {
			next := file + ".next"
			if err := os.WriteFile(next, []byte(strconv.Itoa(n)), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Rename(next, file); err != nil {
				t.Error(err)
			}
			written.Store(int64(n))
		}
	})
	writer.Wait()
	close(done)
	readers.Wait()
}

// TestAFileIsLookedAtOnlyWhenSomethingHasChanged, whatever it is.
func TestAFileIsLookedAtOnlyWhenSomethingHasChanged(t *testing.T) {
	w, r, file := watched(t)
	looks := 0
	r.files.step = func(op Operation, _ string) error {
		if op == OpStat {
			looks++
		}
		return nil
	}
	read := func() int {
		t.Helper()
		found, err := r.at(w.current())
		must(t, err)
		return found
	}
	read()
	looks = 0
	for range 100 {
		read()
	}
	if looks > 0 {
		t.Errorf("%d looks while nothing changed", looks)
	}
	must(t, os.WriteFile(file, []byte("11"), 0o600)) // in its place, as editors write
	if found := read(); found != 11 {
		t.Errorf("%d after 11 was written", found)
	}
	must(t, os.Remove(file))
	if found, err := r.at(w.current()); err == nil {
		t.Errorf("%d after the file was removed", found)
	}
	must(t, os.WriteFile(file, []byte("12"), 0o600))
	if found := read(); found != 12 {
		t.Errorf("%d after 12 was written", found)
	}
}

// TestAWatchEndsWithItsFolder: from then on the path is looked at, where another
// folder may lie.
func TestAWatchEndsWithItsFolder(t *testing.T) {
	w, r, file := watched(t)
	if v := w.current(); v == 0 {
		t.Fatal("nothing is watched")
	}
	folder := filepath.Dir(file)
	must(t, os.Rename(folder, folder+"-moved"))
	must(t, os.Mkdir(folder, 0o700))
	must(t, os.WriteFile(file, []byte("7"), 0o600))
	if found, err := r.at(w.current()); err != nil || found != 7 {
		t.Errorf("%d, %v in the folder that lies there now", found, err)
	}
	if v := w.current(); v != 0 {
		t.Errorf("the watch goes on at version %d", v)
	}
}

// TestWhatCannotBeReadIsLookedAtAgain: a folder further up that is moved is not told.
func TestWhatCannotBeReadIsLookedAtAgain(t *testing.T) {
	w, r, _ := watched(t)
	version := w.current()
	_, err := r.at(version)
	must(t, err)
	r.path += "-elsewhere"
	if _, err := r.at(0); err == nil {
		t.Fatal("a file was read that is not there")
	}
	if found, err := r.at(version); err == nil {
		t.Errorf("%d is still read", found)
	}
}
