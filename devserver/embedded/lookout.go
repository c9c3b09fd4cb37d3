package embedded

import (
	"log/slog"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// lookout says aloud what git has brought that can not be read. No request
// fails for it, so that nobody would know: a document is no longer served, and
// of a workspace file the environments are guessed.
type lookout struct {
	logger   *slog.Logger
	at       string            // the commit seen last
	files    map[string]string // what was seen of each file: its blob
	declared bool
}

func (l *lookout) see(s *repository.Snapshot) {
	files := map[string]string{}
	for i := range s.Files {
		f := &s.Files[i]
		files[f.Path] = f.Blob
		if l.files[f.Path] != f.Blob {
			l.read(f)
		}
	}
	_, declared := files[workspace.File]
	if l.declared && !declared {
		l.logger.Error("the workspace file is gone: environments are those that documents name, and none is protected",
			"file", workspace.File, "commit", s.Head.Commit)
	}
	l.at, l.files, l.declared = s.Head.Commit, files, declared
}

func (l *lookout) read(f *repository.File) {
	what := "the file can not be read, and is not served"
	if f.Path == workspace.File {
		what = "the workspace file can not be read: environments that documents name count too, and all are protected until it is mended"
	}
	_, problems := workspace.Read(map[string][]byte{f.Path: f.Text})
	for _, p := range problems {
		l.logger.Error(what, "commit", f.Last.SHA, "problem", p.String())
	}
}
