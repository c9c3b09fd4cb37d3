package prereceive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"svc.example/svc/shared/git"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

const (
	main = "refs/heads/main"
	noID = "0000000000000000000000000000000000000000"
	// maxUpdates bounds the lines in which git tells of a push, in bytes: a
	// hundred thousand references take fewer.
	maxUpdates = 16 << 20
	// largestFile bounds what is pushed outside the layout, where nothing reads
	// it: svcadmin import takes no larger one.
	largestFile = 64 << 20
	maxPrinted  = 50
)

// allowed are the references that a push may make.
var allowed = []string{"refs/heads/", "refs/tags/", "refs/notes/"}

// Push is what git asks about.
type Push struct {
	Repository string
	Quarantine string    // $GIT_QUARANTINE_PATH
	Updates    io.Reader // lines of the old id, the new one and the reference
}

// Refusal is why a push is not taken: the first reasons, and whether there are more.
type Refusal struct {
	Reasons []string
	More    bool
}

func (r *Refusal) Error() string {
	text := "this push is refused:\n" + strings.Join(r.Reasons, "\n")
	if r.More {
		text += "\nand more; svc verify lists them"
	}
	return text
}

func refuse(reason string) error { return &Refusal{Reasons: []string{reason}} }

// add adds a reason, as long as there are few, and reports whether more are wanted.
func (r *Refusal) add(reason string) (more bool) {
	if r.More = len(r.Reasons) == maxPrinted; !r.More {
		r.Reasons = append(r.Reasons, reason)
	}
	return !r.More
}

// err is the refusal if there is a reason for it.
func (r *Refusal) err() error {
	if len(r.Reasons) == 0 {
		return nil
	}
	return r
}

// Check says why a push is refused.
func Check(ctx context.Context, p Push) error {
	from, to, err := p.updateOfMain()
	if err != nil {
		return err
	}
	present, err := disk.Open(p.Repository)
	if err != nil {
		return err
	}
	s := sources{present}
	if p.Quarantine != "" {
		if err := checkSizes(ctx, p); err != nil {
			return err
		}
		pushed, err := disk.OpenStore(p.Quarantine)
		if err != nil {
			return err
		}
		s = sources{pushed, present}
	}
	if to == "" {
		return nil
	}
	read, end := s.reader(ctx)
	defer end()
	return CheckTree(ctx, read, from, to)
}

// updateOfMain is where main is to be moved to, "" when it stays.
func (p Push) updateOfMain() (from, to string, err error) {
	root, err := os.OpenRoot(p.Repository)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	lines, size := bufio.NewScanner(p.Updates), 0
	for lines.Scan() {
		if size += len(lines.Bytes()) + 1; size > maxUpdates {
			return "", "", refuse("it updates more references than can be checked at once; push fewer of them at a time")
		}
		words := strings.SplitN(lines.Text(), " ", 3)
		if len(words) != 3 || !object.IsID(words[0]) || !object.IsID(words[1]) {
			return "", "", fmt.Errorf("git tells of an update in words that are not known: %s", terminal.Quote(lines.Text()))
		}
		ref := words[2]
		kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "refs/"), "/")
		misleads := name == "HEAD" || strings.HasPrefix(name, "refs/") || kind == "tags" && name == "main"
		switch {
		case !slices.ContainsFunc(allowed, func(prefix string) bool { return strings.HasPrefix(ref, prefix) }) && words[1] != noID:
			return "", "", refuse(terminal.Quote(ref) + " is neither a branch, a tag nor a note (refs/heads, refs/tags, refs/notes); others change what git reads here, as refs/replace does")
		case ref != main && atMain(ref):
			return "", "", refuse(terminal.Quote(ref) + " lies where main does, on a disk that does not tell their names apart for example; call it something else")
		case words[1] != noID && misleads:
			return "", "", refuse(terminal.Quote(ref) + " would be taken for another reference where somebody names one in short, such as main; call it something else")
		case isSymbolic(root, ref):
			return "", "", refuse(terminal.Quote(ref) + " stands for another reference in this repository (git symbolic-ref); push to that one")
		case ref != main:
			continue
		case words[1] == noID:
			return "", "", refuse("it deletes the branch main (a rename does too), from which the workspace is served")
		case to != "":
			return "", "", refuse("it updates main twice")
		}
		from, to = words[0], words[1]
	}
	return from, to, lines.Err()
}

// atMain reports whether a reference's file may be main's or lie below it. Many
// disks do not tell capital letters from small ones; some leave out invisible ones.
func atMain(ref string) bool {
	parts := strings.Split(ref, "/")
	place := strings.Join(parts[:min(len(parts), 3)], "/")
	return strings.EqualFold(main, strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, place))
}

// isSymbolic reports whether git would update another reference in place of one, whose name
// may be any path: git has not checked it yet.
func isSymbolic(root *os.Root, ref string) bool {
	info, err := root.Lstat(filepath.FromSlash(ref))
	if err != nil || !info.Mode().IsRegular() {
		return err == nil && !info.IsDir()
	}
	f, err := root.Open(filepath.FromSlash(ref))
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len("ref:"))
	_, err = io.ReadFull(f, begin)
	return err == nil && string(begin) == "ref:"
}

// checkSizes refuses objects that nothing here would read.
func checkSizes(ctx context.Context, p Push) error {
	pushed, err := git.ObjectsIn(ctx, p.Repository, p.Quarantine)
	if err != nil {
		return err
	}
	var refusal Refusal
	for line := range bytes.Lines(pushed) {
		var id, kind string
		var size int64
		if _, err := fmt.Sscan(string(line), &id, &kind, &size); err != nil || !object.IsID(id) {
			return fmt.Errorf("git tells of an object in words that are not known: %s", terminal.Quote(string(line)))
		}
		most := int64(largestFile)
		if kind == string(object.TreeKind) || kind == string(object.CommitKind) {
			most = object.Max(object.Kind(kind))
		}
		if size > most {
			refusal.add(fmt.Sprintf("object %s has %d bytes; one of its kind may have at most %d (git rev-list --objects HEAD | grep %s tells what it is)", id, size, most, id[:10]))
		}
	}
	return refusal.err()
}

// sources are where objects may lie: what was pushed, then what is there.
type sources []*disk.Objects

// reader reads from all of them.
func (s sources) reader(ctx context.Context) (read object.Read, end func()) {
	var readers []*odb.Reader
	for _, objects := range s {
		readers = append(readers, objects.Reader(ctx))
	}
	read = func(id object.ID) (kind object.Kind, content []byte, err error) {
		for _, r := range readers {
			if kind, content, err = r.Read(id); !errors.Is(err, odb.ErrNoObject) {
				break
			}
		}
		return kind, content, err
	}
	return read, func() {
		for _, r := range readers {
			r.Close()
		}
	}
}

// CheckTree refuses the errors of the new main, but for those that main has already: a push
// that mends one thing need not mend all.
func CheckTree(ctx context.Context, read object.Read, from, to string) error {
	// There may be as many problems as there are bytes, so what is known of those
	// that are there already is their hashes.
	known, seed := map[uint64]bool{}, maphash.MakeSeed()
	if from != noID {
		if err := review(read, from, to); err != nil {
			return err
		}
		if lacksDeclaration(read, to) && !lacksDeclaration(read, from) {
			return refuse(workspace.File + ": the file is gone, which says what environments there are and which of them are protected; leave it in, with what is to change in it")
		}
		sound := true
		if err := problems(ctx, read, to, func(workspace.Problem) bool { sound = false; return false }); err != nil || sound {
			return err
		}
		err := problems(ctx, read, from, func(p workspace.Problem) bool {
			known[maphash.Comparable(seed, unplaced(p))] = true
			return true
		})
		if err != nil && !errors.As(err, new(*Refusal)) {
			return err
		}
	}
	var refusal Refusal
	err := problems(ctx, read, to, func(p workspace.Problem) bool {
		return known[maphash.Comparable(seed, unplaced(p))] || refusal.add(p.String())
	})
	if err != nil {
		return err
	}
	return refusal.err()
}

// review refuses what others have to approve first: git knows nobody who has.
func review(read object.Read, from, to string) error {
	before, err := repository.ReadFolders(read, object.ParseID(from))
	if err != nil {
		return nil // nobody could read it, and a push mends it
	}
	after, err := repository.ReadFolders(read, object.ParseID(to))
	if err != nil {
		return nil // which is refused for that
	}
	blobs := map[string][2]string{}
	for i, tree := range []repository.Tree{before, after} {
		for _, f := range repository.LayoutFiles(tree) {
			of := blobs[f.Path]
			of[i] = f.Blob
			blobs[f.Path] = of
		}
	}
	text := func(blob string) ([]byte, error) {
		if blob == "" {
			return nil, nil
		}
		return object.ReadAs(read, object.ParseID(blob), object.Blob)
	}
	declaration, err := text(blobs[workspace.File][0])
	if err != nil || len(workspace.Decode(workspace.File, declaration).Part.Reviews()) == 0 {
		return err
	}
	var changed []workspace.Difference
	for path, of := range blobs {
		if of[0] == of[1] {
			continue
		}
		d := workspace.Difference{Path: path}
		if d.Before, err = text(of[0]); err == nil {
			d.After, err = text(of[1])
		}
		if err != nil {
			return refuse(path + ": " + err.Error())
		}
		changed = append(changed, d)
	}
	if environments := workspace.Reviewed(declaration, changed); len(environments) > 0 {
		return refuse((&repository.Unreviewed{Environments: environments}).Error() + ": propose it with svc request create, or in the console")
	}
	return nil
}

// lacksDeclaration reports whether a commit that can be read has no workspace file.
func lacksDeclaration(read object.Read, commit string) bool {
	tree, err := repository.ReadFolders(read, object.ParseID(commit))
	return err == nil && !slices.ContainsFunc(tree.Root, func(e repository.TreeEntry) bool { return e.Name == workspace.File })
}

// unplaced is a problem without its place in the file.
func unplaced(p workspace.Problem) workspace.Problem {
	p.Line, p.Column = 0, 0
	return p
}

// problems tells the errors in the tree of a commit, file by file, as long as more
// are wanted.
func problems(ctx context.Context, read object.Read, commit string, each func(p workspace.Problem) (more bool)) error {
	tree, err := repository.ReadTree(ctx, repository.Head{Commit: commit}, read, nil, 0)
	large, tooMuch := (*object.TooLarge)(nil), (*repository.TooLarge)(nil)
	switch {
	case errors.As(err, &large):
		return refuse(large.Error())
	case errors.As(err, &tooMuch):
		return refuse(tooMuch.Error())
	case errors.Is(err, object.ErrMalformed):
		return refuse("the commit " + commit + " cannot be read; git fsck says what is wrong with it")
	case err != nil:
		return err
	}
	for _, p := range slices.Concat(malformed(tree), tree.WrongKinds()) {
		if !each(p) {
			return nil
		}
	}
	workspace.VerifyEach(tree.Files, each)
	return nil
}

// malformed are the entries that git itself never writes.
func malformed(tree repository.Tree) []workspace.Problem {
	var found []workspace.Problem
	add := func(prefix string, entries []repository.TreeEntry) {
		seen := map[string]bool{}
		for _, e := range entries {
			what := ""
			switch {
			case e.IsNested():
				what = "the entry's name has a slash in it, which no git writes"
			case seen[e.Name]:
				what = "there are two entries of that name"
			}
			if seen[e.Name] = true; what != "" {
				found = append(found, workspace.Problem{Severity: workspace.Fatal, File: prefix + terminal.Cut(e.Name, workspace.MaxName), Message: what})
			}
		}
	}
	add("", tree.Root)
	for folder, entries := range tree.Folders {
		add(folder+"/", entries)
	}
	workspace.SortProblems(found)
	return found
}
