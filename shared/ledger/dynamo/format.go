package dynamo

import (
	"fmt"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
)

// Format is the format in which this version stores a workspace. The head of
// each names its own; one that names none is of format 1. It is raised by what
// an older version would damage, so that such a version refuses the workspace;
// an attribute or a field that is merely new needs no new format, since what a
// version does not know it leaves alone.
const Format = 1

// checkFormat refuses the head of a workspace that a newer version has stored.
func checkFormat(ws access.ID, head item) error {
	if format := numberOf(head, "format"); format > Format {
		return fmt.Errorf("workspace %s is stored in format %d, and this svc knows formats up to %d; it takes the version of svc that stored it, or a later one: %w",
			ws, format, Format, repository.ErrNewer)
	}
	return nil
}
