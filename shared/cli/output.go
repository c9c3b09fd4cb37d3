package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/terminal"
)

// Table prints rows in columns. What stands in a cell may come from anybody: it
// is escaped, so that it stays in its cell.
func Table(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = terminal.Escape(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// UsageRows show what telemetry has counted in a month.
func UsageRows(u telemetry.Usage) [][]string {
	row := func(name string, value any) []string { return []string{name, fmt.Sprint(value)} }
	rows := [][]string{row("month", u.Month), row("context keys (MTK)", u.Keys)}
	for _, t := range u.Types {
		rows = append(rows, row("  "+terminal.Printable(t.Type), t.Keys))
	}
	if u.OtherTypes > 0 {
		rows = append(rows, row(fmt.Sprintf("  (%d other types)", u.OtherTypes), u.OtherKeys()))
	}
	if u.NotCounted > 0 {
		rows = append(rows, row("not counted, at most", u.NotCounted))
	}
	return rows
}

// JSON prints a value for people and programs.
func JSON(out io.Writer, value any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// Plural counts something.
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Terminal reports whether a reader or a writer is a terminal: progress and
// questions are for people.
func Terminal(stream any) bool {
	if escaping, ok := stream.(*terminal.Writer); ok {
		stream = escaping.Unwrap()
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a device too, at which nobody sits
	return err != nil || !os.SameFile(info, null)
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
	line := Line(w)
	var shown time.Time
	return func(done, total int) {
		if done < total && time.Since(shown) < progressEvery {
			return
		}
		shown = time.Now()
		line(fmt.Sprintf("%s: %d of %d %s", doing, done, total, unit), done >= total)
	}
}

// Line returns a function that replaces the last line of a terminal, until one
// is the last, and does nothing elsewhere. It moves the cursor, so it goes round the escaping
// of everything else that is printed.
func Line(w io.Writer) func(text string, last bool) {
	if !Terminal(w) {
		return func(string, bool) {}
	}
	if escaping, ok := w.(*terminal.Writer); ok {
		w = escaping.Unwrap()
	}
	return func(text string, last bool) {
		end := ""
		if last {
			end = "\n"
		}
		fmt.Fprintf(w, "\r\x1b[K%s%s", terminal.Escape(text), end)
	}
}
