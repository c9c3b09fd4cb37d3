package embedded

import (
	"log/slog"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/workspace"
)

// reporter logs what git has brought that cannot be served. No request
// fails for it, so that nobody would know: a document is served as it was
// before, or no longer, and so is a workspace file.
type reporter struct {
	logger *slog.Logger
	at     string            // the commit seen last
	told   map[string]string // the blobs of files that were told of, by path
}

// maxTold is how many files the log names at one commit.
const maxTold = 20

func (l *reporter) see(s *repository.Snapshot, broken []served.Broken) {
	told := map[string]string{}
	fresh := 0
	for _, b := range broken {
		told[b.File.Path] = b.File.Blob
		if blob, known := l.told[b.File.Path]; known && blob == b.File.Blob {
			continue
		}
		if fresh++; fresh > maxTold {
			continue
		}
		what := b.Outcome()
		if b.File.Path == workspace.File && b.ServedFrom == "" {
			what += "; until it is mended the API lists the environments that documents name too, and all are protected"
		}
		attributes := []any{"since", b.Since, "servedFrom", b.ServedFrom, "problem", b.Problems[0].String()}
		if more := len(b.Problems) - 1; more > 0 {
			attributes = append(attributes, "more", more)
		}
		l.logger.Error(what, attributes...)
	}
	if more := fresh - maxTold; more > 0 {
		l.logger.Error("there are more documents that cannot be served; GET /v1/workspace counts them, and svc verify says what is wrong", "more", more)
	}
	l.at, l.told = s.Head.Commit, told
}
