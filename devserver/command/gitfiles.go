package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// gitDirectory is a config directory in a git repository. The program git reads it,
// so that whatever git takes for a commit is one, in whatever kind of clone.
type gitDirectory struct {
	dir    string
	prefix string // of the directory in the repository, with a slash, or ""
}

func openGit(ctx context.Context, dir string) (gitDirectory, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return gitDirectory{}, errors.New("this needs the program git, which is not installed")
	}
	g := gitDirectory{dir: dir}
	prefix, err := g.run(ctx, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return g, fmt.Errorf("%s is in no git repository that can be read: %w; this reads what git has committed: git init and git commit come first", dir, err)
	}
	g.prefix = strings.TrimSuffix(string(prefix), "\n")
	return g, nil
}

// run runs git, whose error is what it says last.
func (g gitDirectory) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", g.dir}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	err := cmd.Run()
	if said := strings.TrimSpace(stderr.String()); err != nil && said != "" {
		lines := strings.Split(said, "\n")
		err = errors.New(terminal.Escape(strings.TrimPrefix(lines[0], "fatal: ")))
	}
	return stdout.Bytes(), err
}

// at is the commit that a revision names, and the layout's files at it.
func (g gitDirectory) at(ctx context.Context, revision string) (commit string, files map[string][]byte, err error) {
	id, err := g.run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil && revision == "HEAD" {
		return "", nil, errors.New("the repository has no commit yet: git commit comes first")
	}
	if err != nil {
		return "", nil, fmt.Errorf("the repository has no commit %s: a branch, a tag or a commit is expected, such as main or HEAD~1", terminal.Quote(revision))
	}
	commit = strings.TrimSpace(string(id))
	files, err = g.files(ctx, commit)
	return commit, files, err
}

func (g gitDirectory) files(ctx context.Context, commit string) (map[string][]byte, error) {
	list, err := g.run(ctx, nil, "ls-tree", "-r", "-z", "-l", commit)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var ids bytes.Buffer
	var paths []string
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		about, path, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(about) // mode, type, id and size
		if _, _, known := workspace.SplitPath(path); !known && path != workspace.File || len(fields) != 4 || !strings.HasPrefix(fields[0], "100") {
			continue
		}
		if size, _ := strconv.ParseInt(fields[3], 10, 64); size > document.MaxSize {
			files[path] = workspace.Unread(size)
			continue
		}
		paths = append(paths, path)
		fmt.Fprintln(&ids, fields[2])
	}
	content, err := g.run(ctx, &ids, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(bytes.NewReader(content))
	for _, path := range paths {
		line, err := in.ReadString('\n')
		fields := strings.Fields(line) // id, type and size
		if err != nil || len(fields) != 3 {
			return nil, fmt.Errorf("git does not have the file %s at the commit %s: %s", terminal.Quote(path), commit, terminal.Escape(strings.TrimSpace(line)))
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, err
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		if _, err := in.Discard(1); err != nil {
			return nil, err
		}
		files[path] = text
	}
	return files, nil
}
