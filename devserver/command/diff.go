package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/impact"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

// diffFlags are the flags of svc diff.
type diffFlags struct {
	datadir, contexts, format string
}

func newDiff(in Invocation) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [ref] [ref]",
		Short: "Show what changed since a commit, and who is affected",
		Long: `Show in words what changed between two states of a config directory in git: its
files at one commit (HEAD unless you name another), and as they are now or at a
second commit. Commits are named as in git: main, v1.2, HEAD~3, 3f78685.

With --contexts it also says how many users are affected, with examples: each
context in the file (svc contexts export writes such files) is evaluated before and
after, in every environment that the change reaches.

The formats are text, json, markdown (for the comment of a pull request) and github
(annotations of files, in a step of GitHub Actions). The exit status is 0
with changes or without; it is 1 if a new document cannot be read (its file and line
are printed), or if the repository or the contexts cannot.`,
		Example: `  svc diff
  svc diff main --contexts people.jsonl
  svc diff origin/main HEAD --format markdown`,
		Args: cli.Arguments("a config directory is named with --datadir"),
		RunE: func(cmd *cobra.Command, args []string) error {
			print, known := diffFormats[f.format]
			if !known {
				return cli.Usagef("--format %s: the formats are text, json, markdown and github", f.format)
			}
			d, err := in.diff(cmd.Context(), f, args)
			if err != nil {
				return err
			}
			return print(in, d)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.datadir, "datadir", "", datadirUsage)
	flags.StringVar(&f.contexts, "contexts", "", "file of contexts, each a line of JSON; - for standard input")
	flags.StringVar(&f.format, "format", "text", "text, json, markdown or github")
	return cmd
}

// difference is the answer of svc diff.
type difference struct {
	From    string       `json:"from"` // a commit
	To      *string      `json:"to"`   // a commit; null for the files as they are
	Changes []fileChange `json:"changes"`
	// AsCommitted are files of a checkout that are not compared as they lie there.
	AsCommitted []asCommitted `json:"asCommitted,omitempty"`
	Impact      diffImpact    `json:"impact,omitzero"` // where contexts were given
	prefix      string        // of the directory in its repository
	reached     []string      // environments, in order
}

type diffImpact map[string]*impact.Environment

// fileChange is what became of a file.
type fileChange struct {
	Path     string             `json:"path"` // in the config directory
	Type     document.Type      `json:"type,omitempty"`
	Key      string             `json:"key,omitempty"`
	Messages []activity.Message `json:"messages"`
	added    bool
}

func (in Invocation) diff(ctx context.Context, f diffFlags, refs []string) (*difference, error) {
	dir, err := in.discover(f.datadir)
	if err != nil {
		return nil, err
	}
	git, err := openGit(ctx, dir)
	if err != nil {
		return nil, err
	}
	d := &difference{Changes: []fileChange{}, prefix: git.Prefix}
	first := "HEAD"
	if len(refs) > 0 {
		first = refs[0]
	}
	before, err := git.at(ctx, first)
	if err != nil {
		return nil, err
	}
	d.From = before.commit
	var after *gitState
	var problems []workspace.Problem
	if len(refs) == 2 {
		if after, err = git.at(ctx, refs[1]); err != nil {
			return nil, err
		}
		d.To = &after.commit
	} else {
		state := datadir.Look(dir)
		problems = state.Problems
		submodules, err := git.Submodules(ctx)
		if err != nil {
			return nil, err
		}
		for _, at := range datadir.Submodules(dir, submodules) {
			problems = append(problems, datadir.Submodule(at))
		}
		if after, d.AsCommitted, err = git.checkedOut(ctx, before, state.Files); err != nil {
			return nil, err
		}
	}
	d.setEncodedAside(before, after)
	if err := in.readable(dir, first, before, after, append(problems, after.problems...)); err != nil {
		return nil, err
	}
	for file := range before.unread {
		if _, read := after.files[file]; !read && after.unread[file] == "" { // else it is refused
			d.add(file, []activity.Message{{Message: "deleted; it was too large to be read"}})
		}
	}
	d.compare(before.files, after.files)
	if f.contexts == "" {
		return d, nil
	}
	return d, in.impact(ctx, d, f.contexts, before.files, after.files)
}

// setEncodedAside takes out of both states what cannot be read in one of them, since a
// filter writes it, and says where it was changed.
func (d *difference) setEncodedAside(before, after *gitState) {
	all := maps.Clone(before.encoded)
	maps.Copy(all, after.encoded)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		earlier, was := before.content(file)
		later, is := after.content(file)
		if was != is || !bytes.Equal(earlier, later) {
			d.add(file, []activity.Message{{Message: "changed; what git has of it cannot be read, since it goes through the filter " + all[file].filter}})
		}
		delete(before.files, file)
		delete(after.files, file)
	}
}

// readable refuses documents that were changed and cannot be read now, and warns of
// those that could not be before.
func (in Invocation) readable(dir, ref string, before, after *gitState, problems []workspace.Problem) error {
	changed := func(p workspace.Problem) bool {
		earlier, read := before.files[p.File]
		later, isRead := after.files[p.File]
		id := before.unread[p.File]
		return p.Code == problem.HiddenByGit || p.File != "" && !(read && isRead && bytes.Equal(earlier, later)) && (id == "" || id != after.unread[p.File])
	}
	_, earlier := workspace.ReadServable(before.files, nil)
	for _, p := range workspace.FatalOnly(append(before.problems, earlier...)) {
		if changed(p) && !slices.Contains(problems, p) {
			p.Severity = workspace.Warning
			fmt.Fprintf(in.Stderr, "at %s: %s\n", ref, p.In(in.Display(dir)))
		}
	}
	_, later := workspace.ReadServable(after.files, nil)
	lines := []string{"what was changed cannot be read in full:"}
	for _, p := range workspace.FatalOnly(append(problems, later...)) {
		if changed(p) {
			lines = append(lines, p.In(in.Display(dir)))
		}
	}
	if len(lines) > 1 {
		return errors.New(strings.Join(lines, "\n"))
	}
	return nil
}

// compare says in words what became of each file.
func (d *difference) compare(before, after map[string][]byte) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		earlier, was := before[file]
		later, is := after[file]
		if was && is && bytes.Equal(earlier, later) {
			continue
		}
		if was && earlier == nil {
			earlier = []byte{}
		}
		if is && later == nil {
			later = []byte{}
		}
		messages := feed.Difference(file, earlier, later)
		if file == workspace.File {
			messages = append(messages, declared(earlier, later)...)
		}
		d.add(file, messages)
		d.Changes[len(d.Changes)-1].added = !was
	}
	slices.SortStableFunc(d.Changes, func(a, b fileChange) int { return strings.Compare(a.Path, b.Path) })
}

// declared says in words what a change of the workspace file declares otherwise.
func declared(before, after []byte) (messages []activity.Message) {
	for _, change := range audit.Environments(before, after) {
		messages = append(messages, activity.Message{Message: change.Words()})
	}
	guarded := func(text []byte) bool {
		ws, _ := workspace.Read(map[string][]byte{workspace.File: text})
		return ws.GuardedReferences()
	}
	if now := guarded(after); before != nil && after != nil && now != guarded(before) {
		whose := "whoever may edit a value"
		if now {
			whose = "whoever may edit protected environments"
		}
		messages = append(messages, activity.Message{Message: "values that read the environment of applications may now be written by " + whose + " (secretReferences)"})
	}
	return messages
}

func (d *difference) add(file string, messages []activity.Message) {
	change := fileChange{Path: file, Messages: messages}
	if folder, key, known := workspace.SplitPath(file); known {
		change.Type, _ = folder.Type()
		change.Key = key
	}
	d.Changes = append(d.Changes, change)
}

// notes say in a sentence for each reason what is compared as the last commit has it.
func (d *difference) notes() []string {
	var reasons []string
	files := map[string][]string{}
	for _, a := range d.AsCommitted {
		if files[a.Reason] == nil {
			reasons = append(reasons, a.Reason)
		}
		files[a.Reason] = append(files[a.Reason], a.Path)
	}
	var notes []string
	for _, reason := range reasons {
		notes = append(notes, fmt.Sprintf("compared as the last commit has it, and not as it lies here, since %s: %s%s", reason, files[reason][0], more(len(files[reason])-1)))
	}
	return notes
}

// impact evaluates the contexts of a file in both states.
func (in Invocation) impact(ctx context.Context, d *difference, file string, before, after map[string][]byte) error {
	earlier, _ := workspace.ReadServable(before, nil)
	later, _ := workspace.ReadServable(after, nil)
	change, err := impact.Compare(ctx, earlier, later)
	if err != nil {
		return err
	}
	d.Impact, d.reached = diffImpact{}, change.Environments
	counts, now := map[string]*impact.Count{}, time.Now().UnixMilli()
	for _, environment := range change.Environments {
		count, err := change.In(ctx, environment, now, 0)
		if err != nil {
			return err
		}
		counts[environment] = count
	}
	err = in.eachContext(ctx, file, func(c *impact.Context) {
		for _, count := range counts {
			count.Add(c)
		}
	})
	if err != nil {
		return fmt.Errorf("--contexts %s: %w", file, err)
	}
	for environment, count := range counts {
		d.Impact[environment] = count.Result(true)
	}
	return nil
}

// eachContext reads contexts, each a line of JSON.
func (in Invocation) eachContext(ctx context.Context, name string, visit func(*impact.Context)) error {
	file, err := in.open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, bodies.Max)
	number := 0
	for lines.Scan() && ctx.Err() == nil {
		text := lines.Bytes()
		if number++; number == 1 {
			if workspace.IsUTF16(text) {
				return errUTF16
			}
			text = workspace.WithoutMark(text)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		tree, err := jsontree.Parse(text)
		if err != nil {
			return fmt.Errorf("line %d: not a context as JSON, such as {\"user\": {\"key\": \"u-1\"}}: %w", number, err)
		}
		if issues := explanation.ContextIssues(tree, ""); len(issues) > 0 {
			return fmt.Errorf("line %d: %s", number, jsontree.InWords(issues))
		}
		c := impact.ContextOf(tree)
		visit(&c)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d: it is longer than 1 MiB", number+1)
	}
	if lines.Err() != nil && lines.Err() != io.EOF {
		return withoutPath(lines.Err())
	}
	return ctx.Err()
}

// subject names what was changed: flag dark-mode, or a file that is no document.
func (c fileChange) subject() string {
	if c.Type == "" {
		return c.Path
	}
	return c.Type.Noun() + " " + c.Key
}
