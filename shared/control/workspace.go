package control

import (
	"context"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/workspace"
)

// Broken lists the broken files of a workspace at a snapshot, for those who report
// them: no request fails for such a file.
func (p *Service) Broken(ctx context.Context, workspaceID string, snapshot *repository.Snapshot) ([]served.Broken, error) {
	repo, err := p.settings.Repository(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	h, err := p.served.Open(ctx, workspaceID, repo, snapshot)
	if err != nil {
		return nil, err
	}
	return h.AllBroken(ctx)
}

// WorkspaceDetail is the workspace of a key and what is wrong with it.
type WorkspaceDetail struct {
	ID              string      `json:"id"`
	Name            string      `json:"name"`
	CommitSHA       *string     `json:"commitSha"` // null before the first commit
	BrokenDocuments int         `json:"brokenDocuments"`
	Broken          []BrokenRow `json:"broken"`
	// UnreadableHead is null unless what main names cannot be read.
	UnreadableHead *UnreadableHeadRow `json:"unreadableHead"`
	// Remote is nil where none is kept in step.
	Remote *RemoteRow `json:"remote,omitempty"`
}

// RemoteRow is how a repository elsewhere is doing that is kept in step.
type RemoteRow struct {
	Address string      `json:"address"` // without secrets
	Branch  string      `json:"branch"`
	Path    string      `json:"path"`
	Behind  int         `json:"behind"`
	State   RemoteState `json:"state"`
	// Reason is why it is not in step; null where it is.
	Reason *string `json:"reason"`
	// ChangeRequest decides it; null for none.
	ChangeRequest *string `json:"changeRequest"`
	// Since is when it was in step last; null for not since the start.
	Since *time.Time `json:"since"`
}

// RemoteState says who is to do something about a remote.
type RemoteState string

// The states of a remote.
const (
	RemoteInStep  RemoteState = "in_step"
	RemoteBehind  RemoteState = "behind"  // nobody: it is being pushed
	RemoteFailing RemoteState = "failing" // nobody: it is tried again
	RemoteWaiting RemoteState = "waiting" // somebody decides a change request
	RemoteStopped RemoteState = "stopped" // somebody does what the reason says
)

// UnreadableHeadRow is a head that is not served: CommitSHA of the detail is the
// last one that could be read.
type UnreadableHeadRow struct {
	CommitSHA *string `json:"commitSha"` // null: main names no commit
	Message   string  `json:"message"`
}

// BrokenRow is a file that cannot be served as it is.
type BrokenRow struct {
	Type       string  `json:"type"`
	Key        *string `json:"key"` // null for the workspace file
	Since      string  `json:"since"`
	ServedFrom *string `json:"servedFrom"` // null: not served at all
	Problem    string  `json:"problem"`
}

// maxTold bounds the rows; the count is of all.
const maxTold = 100

// Workspace tells of the key's workspace.
func (s *Session) Workspace(ctx context.Context) (*WorkspaceDetail, error) {
	o, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	broken, err := o.AllBroken(ctx)
	if err != nil {
		return nil, err
	}
	d := &WorkspaceDetail{ID: s.caller.entry.Workspace.ID, Name: s.caller.entry.Workspace.Name, BrokenDocuments: len(broken), Broken: []BrokenRow{}}
	if sha := o.Snapshot.Head.Commit; sha != "" {
		d.CommitSHA = &sha
	}
	if u := s.caller.entry.Unreadable; u != nil {
		d.UnreadableHead = &UnreadableHeadRow{Message: u.Message}
		if u.Commit != "" {
			d.UnreadableHead.CommitSHA = &u.Commit
		}
	}
	if s.service.settings.Remote != nil {
		d.Remote = s.service.settings.Remote()
	}
	for _, b := range broken[:min(len(broken), maxTold)] {
		row := BrokenRow{Type: "workspace", Since: b.Since, Problem: workspace.InWords(b.Problems)}
		if folder, key, ok := workspace.SplitPath(b.File.Path); ok {
			row.Type, row.Key = string(folder.ItemType()), &key
		}
		if b.ServedFrom != "" {
			row.ServedFrom = &b.ServedFrom
		}
		d.Broken = append(d.Broken, row)
	}
	return d, nil
}
