package mcpserver

import (
	"context"

	"svc.example/svc/devserver/pull"
	"svc.example/svc/devserver/verification"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

func (s *server) verify(ctx context.Context, _ *jsontree.Node) (answer, error) {
	var report verification.Report
	if s.Directory != nil {
		state := datadir.Look(s.Directory.Path)
		state.Files = masked(state.Files)
		found, _ := verification.OfDirectory(s.Directory.Path, state)
		report = found.Report
	} else {
		files, omitted, err := pull.Files(ctx, s.API)
		if err != nil {
			return answer{}, err
		}
		var unread []workspace.Problem
		for _, path := range omitted {
			unread = append(unread, workspace.Problem{File: path, Code: problem.UnreadableFile, Message: "the workspace itself cannot read it; read it with git"})
		}
		ws, problems := workspace.ReadAndVerify(masked(files))
		report = verification.Of(ws, append(unread, problems...))
	}
	tree := node(report)
	tree.SetFirst("ok", jsontree.NewBool(report.Errors == 0))
	tree.Set("omitted", jsontree.NewInt(int64(report.Omitted.Errors+report.Omitted.Warnings)))
	return answer{tree: tree, list: "problems"}, nil
}
