package dynamo

import (
	"cmp"
	"fmt"
	"strconv"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

// Format is the format in which this version stores a workspace. The head of
// each names its own; one that names none is of format 1. It is raised by what
// an older version would damage, so that such a version refuses the workspace;
// an attribute or a field that is merely new needs no new format, since what a
// version does not know it leaves alone.
const Format = 1

// checkFormat refuses the head of a workspace that a newer version has stored.
// What is no number of a format that is known is one that is not.
func checkFormat(ws access.ID, head table.Attributes) error {
	stored, named := head["format"]
	if format := head.Number("format"); !named || format >= 1 && format <= Format && textOfNumber(stored) == strconv.FormatInt(format, 10) {
		return nil
	}
	if named && textOfNumber(stored) == strconv.Itoa(unfinished) {
		return fmt.Errorf("workspace %s: %w", ws, ErrUnfinished)
	}
	return fmt.Errorf("workspace %s is stored in format %s, and this svc knows formats up to %d; it takes the version of svc that stored it, or a later one: %w",
		ws, cmp.Or(textOfNumber(stored), "that is no number"), Format, repository.ErrNewer)
}

// isKnownFormat keeps from changing a workspace whose format has become a newer
// one since its head was read.
func isKnownFormat() table.Condition {
	known := []table.Condition{table.Lacks("format")}
	for n := range int64(Format) {
		known = append(known, table.Is("format", table.Number(n+1)))
	}
	return table.Any(known...)
}

// isNumber is table.Is for a number that rows have lacked: none is 0.
func isNumber(name string, n int64) table.Condition {
	if n == 0 {
		return table.Any(table.Lacks(name), table.Is(name, table.Number(0)))
	}
	return table.Is(name, table.Number(n))
}

// unfinished is the format of a workspace that is being restored. There is none such, so
// that every version of svc refuses it.
const unfinished = 0

// ErrUnfinished: the workspace is being restored. It is also a repository.ErrNewer, as
// those who serve are to take it for one.
var ErrUnfinished = fmt.Errorf("it is being restored, or that was interrupted; until svcadmin restore has run to its end nobody is served%w", hidden{repository.ErrNewer})

// hidden is an error of another's kind, without its words.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }

// check refuses the head of a workspace that must not be used through this table.
func (t *Table) check(ws access.ID, head table.Attributes) error {
	switch {
	case t.restoring == "":
		return checkFormat(ws, head)
	case head.Text(restoringName) != t.restoring:
		return fmt.Errorf("workspace %s: %w", ws, ErrRestored)
	}
	return nil
}

// isOurs is check as a condition of a change of the head.
func (t *Table) isOurs() table.Condition {
	if t.restoring == "" {
		return isKnownFormat()
	}
	return table.Is(restoringName, table.Text(t.restoring))
}

func textOfNumber(v table.Value) string {
	switch v := v.(type) {
	case table.Number:
		return strconv.FormatInt(int64(v), 10)
	case table.Foreign:
		return string(v)
	}
	return ""
}
