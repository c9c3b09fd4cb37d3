package embedded

import (
	"log/slog"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// lookout says aloud what git has brought that can not be read. No request
// fails for it, so that nobody would know: a document is no longer served, and
// of a workspace file the environments are guessed.
type lookout struct {
	logger   *slog.Logger
	at       string            // the commit seen last
	told     map[string]string // the blobs of files that were told of, by path
	declared bool
}

func (l *lookout) see(s *repository.Snapshot, unreadable []control.Unreadable) {
	told := map[string]string{}
	for _, u := range unreadable {
		told[u.File.Path] = u.File.Blob
		if l.told[u.File.Path] != u.File.Blob {
			l.tell(u)
		}
	}
	_, declared := s.File(workspace.File)
	if l.declared && !declared {
		l.logger.Error("the workspace file is gone: environments are those that documents name, and none is protected",
			"file", workspace.File, "commit", s.Head.Commit)
	}
	l.at, l.told, l.declared = s.Head.Commit, told, declared
}

func (l *lookout) tell(u control.Unreadable) {
	what := "the file can not be read, and is not served"
	if u.File.Path == workspace.File {
		what = "the workspace file can not be read: environments that documents name count too, and all are protected until it is mended"
	}
	for _, p := range u.Problems {
		l.logger.Error(what, "commit", u.File.Last.SHA, "problem", p.String())
	}
}
