package embedded

import (
	"svc.example/svc/devserver/monitor"
	"svc.example/svc/shared/gitremote"
)

// follow has a remote follow this workspace, and its numbers shown.
func (s *Service) follow(f *gitremote.Follower, m *monitor.Monitor) {
	f.Table, f.Head, f.Objects, f.Logger = s.table, s.ledger.Head, s.ledger.Objects(), s.logger
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
