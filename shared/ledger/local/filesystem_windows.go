package local

import (
	"io"
	"os"
)

// canWrite does not know: what somebody may do there only shows when it is done.
func canWrite(string) error { return nil }

// hold keeps nothing open: an open file cannot be replaced on Windows, and
// there a file's identity counts how often it was given out.
func hold(f *os.File) io.Closer {
	f.Close()
	return io.NopCloser(nil)
}
