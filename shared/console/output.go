package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// Table prints rows in columns.
func Table(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// Plural counts something.
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Terminal says whether a reader or a writer is a terminal: progress and
// questions are for people.
func Terminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progressEvery is how often progress is shown: faster is not read, and slows
// the work.
const progressEvery = 100 * time.Millisecond

// Progress returns a function that shows how far something has come, in one
// line of a terminal; nil elsewhere.
func Progress(w io.Writer, doing, unit string) func(done, total int) {
	if !Terminal(w) {
		return nil
	}
	var shown time.Time
	return func(done, total int) {
		if done < total && time.Since(shown) < progressEvery {
			return
		}
		shown = time.Now()
		fmt.Fprintf(w, "\r\x1b[K%s: %d of %d %s", doing, done, total, unit)
		if done >= total {
			fmt.Fprintln(w)
		}
	}
}
