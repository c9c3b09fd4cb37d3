package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/terminal"
)

// gitTree is what a commit has below a directory.
type gitTree struct {
	entries map[string]gitEntry
	folders map[string][]string // the names in each
}

type gitEntry struct {
	mode, id string
	size     int64
}

func (e gitEntry) is(kind string) bool { return strings.HasPrefix(e.mode, kind) }

// Kinds of entries in git, by the first digits of their modes.
const (
	gitFile      = "100"
	gitFolder    = "040"
	gitLink      = "120"
	gitSubmodule = "160"
)

// folder is the path and the id of the directory's tree at a commit, where the links lead
// that its path had then: a change of one is a change of all files. The id is "" where there
// was none.
func (g gitDirectory) folder(ctx context.Context, commit string) (at, id string, err error) {
	root, wrong := g.root(ctx, commit)
	ids := map[string]string{".": root}
	at, ok := follow(filepath.ToSlash(g.Path), func(file string) (string, bool) {
		if file == "." {
			return "", false
		}
		names, err := g.names(ctx, commit, ids[path.Dir(file)])
		wrong = cmp.Or(wrong, err)
		e := names[path.Base(file)]
		if e.is(gitFolder) {
			ids[file] = e.id
		}
		if e.is(gitSubmodule) {
			wrong = fmt.Errorf("at the commit %s the path of the directory leads into the submodule %s, whose files are compared in its own repository", commit, terminal.Quote(file))
		}
		if !e.is(gitLink) {
			return "", false
		}
		target := map[string][]byte{}
		wrong = cmp.Or(wrong, g.contents(ctx, commit, map[string]string{file: e.id}, target))
		return linkTarget(target[file]), true
	})
	if wrong == nil && !ok {
		wrong = fmt.Errorf("at the commit %s the path of the directory is a symbolic link that leads out of the repository", commit)
	}
	return at, ids[at], wrong
}

// root is the id of a commit's tree.
func (g gitDirectory) root(ctx context.Context, commit string) (string, error) {
	text := map[string][]byte{}
	if err := g.contents(ctx, commit, map[string]string{"": commit}, text); err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text[""]), "\n")
	id, found := strings.CutPrefix(line, "tree ")
	if !found {
		return "", fmt.Errorf("the commit %s does not begin with its tree", commit)
	}
	return id, nil
}

// maxGitEntries is how much a tree may hold in all: few objects, in each other again and
// again, make very many.
const maxGitEntries = 1_000_000

// tree is what a commit has in a tree and below.
func (g gitDirectory) tree(ctx context.Context, commit, id string) (gitTree, error) {
	t := gitTree{map[string]gitEntry{}, map[string][]string{}}
	level := map[string]string{".": id}
	for id != "" && len(level) > 0 {
		texts := map[string][]byte{}
		if err := g.contents(ctx, commit, level, texts); err != nil {
			return t, err
		}
		below := map[string]string{}
		for folder, text := range texts {
			names, err := namesIn(text, commit, len(id)/2)
			if err != nil {
				return t, err
			}
			for name, e := range names {
				file := path.Join(folder, name)
				t.entries[file] = e
				t.folders[folder] = append(t.folders[folder], name)
				if e.is(gitFolder) {
					below[file] = e.id
				}
			}
		}
		if level = below; len(t.entries)+len(level) > maxGitEntries {
			return t, fmt.Errorf("at the commit %s the directory has more than %d files and folders", commit, maxGitEntries)
		}
	}
	return t, g.sizes(ctx, t)
}

// sizes notes how large the files and links of a tree are.
func (g gitDirectory) sizes(ctx context.Context, t gitTree) error {
	var asked bytes.Buffer
	var files []string
	for file, e := range t.entries {
		if e.is(gitFile) || e.is(gitLink) {
			files = append(files, file)
			fmt.Fprintln(&asked, e.id)
		}
	}
	if len(files) == 0 {
		return nil
	}
	said, err := g.Run(ctx, &asked, "cat-file", "--batch-check=%(objectsize)")
	lines := strings.Split(string(said), "\n")
	for i, file := range files[:min(len(files), len(lines))] {
		e := t.entries[file]
		e.size, _ = strconv.ParseInt(lines[i], 10, 64) // one that is missing is refused when it is read
		t.entries[file] = e
	}
	return err
}

// names is what a tree has itself.
func (g gitDirectory) names(ctx context.Context, commit, id string) (map[string]gitEntry, error) {
	if id == "" {
		return nil, nil
	}
	text := map[string][]byte{}
	if err := g.contents(ctx, commit, map[string]string{"": id}, text); err != nil {
		return nil, err
	}
	return namesIn(text[""], commit, len(id)/2)
}

// namesIn reads a tree, whose ids have so many bytes. Git writes no name twice, and none
// with a slash; a checkout makes files of these in folders where a review has none.
func namesIn(tree []byte, commit string, idBytes int) (map[string]gitEntry, error) {
	names := map[string]gitEntry{}
	for len(tree) > 0 {
		about, rest, ended := bytes.Cut(tree, []byte{0})
		octal, name, named := strings.Cut(string(about), " ")
		mode, err := strconv.ParseUint(octal, 8, 32)
		if !ended || !named || err != nil || len(rest) < idBytes {
			return nil, fmt.Errorf("a tree of the commit %s is malformed: git fsck tells more", commit)
		}
		if _, twice := names[name]; twice || strings.Contains(name, "/") {
			return nil, fmt.Errorf("a tree of the commit %s has the name %s, with a slash or twice: git writes no such tree, and a review does not show what a checkout makes of it (git fsck tells more)", commit, terminal.Quote(name))
		}
		names[name] = gitEntry{mode: object.Canonical(uint32(mode)), id: hex.EncodeToString(rest[:idBytes])}
		tree = rest[idBytes:]
	}
	return names, nil
}

// contents reads objects, given by the file or folder that each is of, into a map.
func (g gitDirectory) contents(ctx context.Context, commit string, ids map[string]string, into map[string][]byte) error {
	if len(ids) == 0 {
		return nil
	}
	var asked bytes.Buffer
	files := slices.Collect(maps.Keys(ids))
	for _, file := range files {
		fmt.Fprintln(&asked, ids[file])
	}
	content, err := g.Run(ctx, &asked, "cat-file", "--batch")
	if err != nil {
		return err
	}
	in := bufio.NewReader(bytes.NewReader(content))
	for _, file := range files {
		line, err := in.ReadString('\n')
		fields := strings.Fields(line) // id, type and size
		if err != nil || len(fields) != 3 {
			return fmt.Errorf("git does not have the file %s at the commit %s, as in a partial clone; it is not fetched for this: git fetch --refetch --no-filter gets everything", terminal.Quote(file), commit)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil {
			return err
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return err
		}
		if _, err := in.Discard(1); err != nil {
			return err
		}
		var sum hash.Hash = sha1.New()
		if len(ids[file]) == sha256.Size*2 {
			sum = sha256.New()
		}
		fmt.Fprintf(sum, "%s %d\x00", fields[1], size)
		sum.Write(text)
		if hex.EncodeToString(sum.Sum(nil)) != ids[file] { // git looks at names when it fetches, and not when it reads
			return fmt.Errorf("the object %s, the %s %s at the commit %s, has another content than its name says: the repository is damaged, or somebody has changed what it holds; git fsck tells more", ids[file], fields[1], terminal.Quote(file), commit)
		}
		into[file] = text
	}
	return nil
}
