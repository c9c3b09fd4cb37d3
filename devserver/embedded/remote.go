package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc.example/svc/devserver/monitor"
	"svc.example/svc/devserver/prereceive"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/gitremote"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/request"
)

// take makes a remote's commit the head, if it keeps to the rules of a push.
func (s *Service) take(ctx context.Context, from repository.Head, to object.ID, made *pack.Pack, read object.Read) error {
	err := prereceive.CheckTree(ctx, read, from.Commit, to.String())
	if refusal := (*prereceive.Refusal)(nil); errors.As(err, &refusal) {
		return &gitremote.Refusal{Message: fmt.Sprintf("what was committed at the remote is refused: %s", strings.Join(refusal.Reasons, "; "))}
	}
	if err != nil {
		return err
	}
	objects := s.ledger.Objects()
	defer objects.Release(made.Name)
	if err := objects.PutPack(ctx, made.Name, made.Bytes, made.Index); err != nil {
		return err
	}
	return s.ledger.Take(ctx, from, to)
}

// follow has a remote follow this workspace, and its numbers shown.
func (s *Service) follow(f *gitremote.Follower, requests request.Store, m *monitor.Monitor) {
	f.Requests = newProposals(requests, s.workspace, s.ledger.Registry().Registry, f.Remote.Address.String())
	f.Table, f.Head, f.Objects, f.Take, f.Logger = s.table, s.ledger.Head, s.ledger.Objects(), s.take, s.logger
	m.Gauge("svc_remote_behind_commits", "Commits that the remote lacks.", nil, func() float64 { return float64(f.Status().Behind) })
	m.Gauge("svc_remote_failing", "1 while the remote cannot be brought in step, 2 when somebody has to see to it.", nil, func() float64 {
		switch status := f.Status(); {
		case status.Person:
			return 2
		case status.Error != "":
			return 1
		}
		return 0
	})
	m.Gauge("svc_remote_in_step_timestamp_seconds", "When the remote was in step last; 0 for not since the start.", nil, func() float64 {
		if at := f.Status().Since; !at.IsZero() {
			return float64(at.Unix())
		}
		return 0
	})
}

// remoteRow tells how a remote is doing.
func remoteRow(status gitremote.Status) *control.RemoteRow {
	row := &control.RemoteRow{Address: status.Address, Branch: status.Branch, Path: status.Path, Behind: status.Behind, State: control.RemoteInStep}
	if status.Error != "" {
		row.Reason = &status.Error
	}
	if id := request.ID(status.Request); id != "" {
		row.ChangeRequest = &id
	}
	if at := status.Since.UTC().Truncate(time.Second); !status.Since.IsZero() {
		row.Since = &at
	}
	switch {
	case row.ChangeRequest != nil:
		row.State = control.RemoteWaiting
	case status.Person:
		row.State = control.RemoteStopped
	case row.Reason != nil:
		row.State = control.RemoteFailing
	case status.Behind > 0 || row.Since == nil:
		row.State = control.RemoteBehind
	}
	return row
}
