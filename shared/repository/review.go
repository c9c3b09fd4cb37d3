package repository

import (
	"fmt"
	"strings"

	"svc.example/svc/shared/workspace"
)

// Unreviewed refuses a commit whose draft says of nobody that they have approved what it
// changes.
type Unreviewed struct{ Environments []string }

func (u *Unreviewed) Error() string {
	return fmt.Sprintf("others have to approve this first: it changes what %s is served, or which environments there are and who reviews them", strings.Join(u.Environments, ", "))
}

// Reviewed are the environments of which these changes have to be reviewed, by the
// workspace file of the snapshot: see workspace.Reviewed.
func (s *Snapshot) Reviewed(changes []Change) ([]string, error) {
	declaration, _ := s.File(workspace.File)
	if declaration.Err != nil {
		return nil, fmt.Errorf("whether a change has to be reviewed: %w", declaration.Err)
	}
	var changed []workspace.Difference
	for _, c := range changes {
		before, _ := s.File(c.Path)
		changed = append(changed, workspace.Difference{Path: c.Path, Before: before.Text, After: c.Content})
	}
	return workspace.Reviewed(declaration.Text, changed), nil
}

// Review refuses a draft that nobody has approved where somebody has to.
func (d Draft) Review(base *Snapshot) error {
	if d.Approved {
		return nil
	}
	environments, err := base.Reviewed(d.Changes)
	if err == nil && len(environments) > 0 {
		err = &Unreviewed{environments}
	}
	return err
}
