package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Attributes are what git is told of a file in .gitattributes, by name: set, unset,
// unspecified or a value.
type Attributes map[string]string

// Attributes are those of files, by their paths in the directory, as they hold at a
// commit; "" for the checkout.
func (r *Repository) Attributes(ctx context.Context, commit string, files []string) (map[string]Attributes, error) {
	all := map[string]Attributes{}
	if len(files) == 0 {
		return all, nil
	}
	ask, at := []string{"check-attr", "-z", "--stdin"}, r.at()
	if commit != "" {
		index, remove, err := r.attributesOf(ctx, commit, files)
		if err != nil {
			return nil, err
		}
		defer remove()
		ask, at = append(ask, "--cached"), append(at, "GIT_INDEX_FILE="+index)
	}
	ask = append(ask, "filter", "ident", "working-tree-encoding", "text", "crlf", "eol")
	said, err := run(ctx, r.dir, at, strings.NewReader(strings.Join(files, "\x00")+"\x00"), ask...)
	fields := strings.Split(string(said), "\x00") // path, name and value, and again
	for ; len(fields) > 3; fields = fields[3:] {
		if all[fields[0]] == nil {
			all[fields[0]] = Attributes{}
		}
		all[fields[0]][fields[1]] = fields[2]
	}
	return all, err
}

// attributesOf writes an index of the .gitattributes of a commit alone that hold for the
// files, outside the repository.
func (r *Repository) attributesOf(ctx context.Context, commit string, files []string) (index string, remove func(), err error) {
	folder, err := os.MkdirTemp("", "svc-attributes-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	seen := map[string]bool{}
	list := []string{"ls-tree", "--full-tree", "-z", commit, "--"}
	for _, file := range files {
		for at := path.Dir(path.Join(r.Prefix, file)); !seen[at]; at = path.Dir(at) {
			seen[at] = true
			list = append(list, path.Join(at, ".gitattributes"))
		}
	}
	index = filepath.Join(folder, "index")
	entries, err := r.Run(ctx, nil, list...)
	if err == nil {
		_, err = run(ctx, r.top, append(r.at(), "GIT_INDEX_FILE="+index), bytes.NewReader(entries), "update-index", "-z", "--index-info")
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return index, remove, nil
}

// Value is that of an attribute, "" when it is not set.
func (a Attributes) Value(name string) string {
	if v := a[name]; v != "unspecified" && v != "unset" {
		return v
	}
	return ""
}

// Filter is the name of the filter that a file goes through, "" for none.
func (a Attributes) Filter() string {
	if filter := a.Value("filter"); filter != "set" {
		return filter
	}
	return ""
}

// Rewrites says how git itself makes the file in a checkout another one than it holds, but
// for ends of lines; "" when it does not.
func (a Attributes) Rewrites(content []byte) string {
	switch encoding := a.Value("working-tree-encoding"); {
	case encoding != "" && encoding != "set" && !strings.EqualFold(encoding, "utf-8"):
		return fmt.Sprintf("writes it into a checkout in the encoding %.80q (working-tree-encoding)", encoding)
	case a.Value("ident") == "set" && bytes.Contains(content, []byte("$Id")):
		return "replaces what stands behind $Id in it (ident)"
	}
	return ""
}

// ConvertsLineEnds reports whether git holds a file with ends of lines that may be others
// in a checkout; automatic is core.autocrlf.
func (a Attributes) ConvertsLineEnds(automatic string) bool {
	text := a["text"]
	if text == "unspecified" {
		text = a["crlf"]
	}
	switch text {
	case "unset":
		return false
	case "unspecified":
		return a.Value("eol") != "" || automatic == "true" || automatic == "input"
	}
	return true
}

// Submodules are those of the paths, and of what lies below them, of which git holds the
// name of a commit in another repository.
func (r *Repository) Submodules(ctx context.Context, paths ...string) ([]string, error) {
	list, err := r.Run(ctx, nil, append([]string{"ls-files", "-s", "-z", "--"}, paths...)...)
	var found []string
	for line := range strings.SplitSeq(string(list), "\x00") {
		if about, at, _ := strings.Cut(line, "\t"); strings.HasPrefix(about, "160000 ") {
			found = append(found, at)
		}
	}
	return found, err
}
