package client

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

// directory is a datadir as a source. As in svc serve, a directory with a
// fatal problem is refused at the start, and later never takes the last good
// state away.
type directory struct {
	path, environment string
	options           Options
	leftOut           []workspace.Problem // links that lead out and what is no file, as logged
}

func newDirectory(o Options) (*directory, error) {
	workdir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	path, err := datadir.Discover(o.Datadir, os.Getenv, workdir)
	if err != nil {
		return nil, fmt.Errorf("svc: %s", strings.ReplaceAll(err.Error(), "--datadir", "Options.Datadir"))
	}
	return &directory{path: path, environment: o.Environment, options: o}, nil
}

// Refusal is why a directory is not served: every fatal problem in it.
type Refusal struct {
	Path     string
	Problems []workspace.Problem
}

func (r *Refusal) Error() string {
	lines := []string{fmt.Sprintf("svc: cannot serve %s:", r.Path)}
	for _, p := range r.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func (d *directory) run(ctx context.Context, c *Client, hopeless func(error)) {
	state := datadir.Look(d.path)
	if err := d.update(c, state); err != nil {
		c.sourceFailed(err)
		hopeless(err) // and for Open to say
	}
	notice := func(message string) { d.options.Log.Warn("svc: " + message) }
	datadir.Watch(ctx, d.path, state, notice, func(state datadir.State) {
		if err := d.update(c, state); err != nil {
			switch news := c.sourceFailed(err); {
			case !news:
			case c.table.Load() != nil:
				d.options.Log.Error("svc: not reloaded, the last good state is kept", "error", err)
			default:
				d.options.Log.Error("svc: still nothing to serve", "error", err)
			}
		}
	})
}

func (d *directory) update(c *Client, state datadir.State) error {
	from, problems := d.load(state)
	if len(problems) > 0 {
		return &Refusal{d.path, problems}
	}
	leftOut := slices.DeleteFunc(slices.Clone(state.Problems), func(p workspace.Problem) bool { return p.Code != problem.LeftOut })
	if !slices.Equal(leftOut, d.leftOut) && len(leftOut) > 0 { // others than before
		d.options.Log.Warn("svc: links that lead out of the directory, and what is no file, are left out; svc verify lists them", "links", len(leftOut), "first", leftOut[0].String())
	}
	d.leftOut = leftOut
	c.serve(newTable(from, d.options))
	return nil
}

// load has the version of the files, which the watch has made already. That of the
// environment says nothing of confidential values, which are served here.
func (d *directory) load(state datadir.State) (origin, []workspace.Problem) {
	from := origin{version: state.Version(), environment: d.environment, digests: map[string]uint64{}}
	ws, problems := workspace.ReadServable(state.Files, func(item *workspace.Item) {
		from.sources = append(from.sources, evaluation.Source{Key: item.Key, Document: item.View})
		from.digests[item.Key] = digest(item.Text)
	})
	problems = append(problems, state.Problems...)
	e, known := ws.Environment(d.environment)
	why := "not declared"
	if e.Archived {
		why = "archived, so that nothing is served there"
	}
	if e.Archived || !known && ws.Declared {
		problems = append(problems, workspace.Problem{Severity: workspace.Fatal, File: workspace.File,
			Message: fmt.Sprintf("the environment %q (Options.Environment, else $SVC_ENVIRONMENT, else development) is %s; declared are %s", d.environment, why, strings.Join(ws.Active(), ", ")), Code: problem.UnknownEnvironment})
	}
	if fatal := workspace.FatalOnly(problems); len(fatal) > 0 {
		workspace.SortProblems(fatal)
		return origin{}, slices.Clip(fatal)
	}
	return from, nil
}
