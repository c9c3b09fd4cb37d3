package git

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Attributes are what git is told of a file in .gitattributes, by name: set, unset,
// unspecified or a value.
type Attributes map[string]string

// Attributes are those of files as they hold at a commit; "" for the checkout. Files are by
// their names, each with where it lies at the end of symbolic links, both from the top.
func (r *Repository) Attributes(ctx context.Context, commit string, files map[string]string) (map[string]Attributes, error) {
	if len(files) == 0 {
		return map[string]Attributes{}, nil
	}
	paths := slices.AppendSeq(slices.Collect(maps.Keys(files)), maps.Values(files))
	folders := foldersOf(paths...)
	ask, at := []string{"check-attr", "-z", "--stdin"}, []string(nil)
	if commit == "" {
		for _, folder := range folders {
			if err := refuse(filepath.Join(r.top, filepath.FromSlash(folder), attributesName), mostOfText); err != nil {
				return nil, err
			}
		}
	} else {
		index, remove, err := r.attributesOf(ctx, commit, folders)
		if err != nil {
			return nil, err
		}
		defer remove()
		ask, at = append(ask, "--cached"), append(at, "GIT_INDEX_FILE="+index)
	}
	for _, folder := range folders { // an attribute of theirs is not one of what lies in them
		if folder != "." {
			paths = append(paths, folder+"/")
		}
	}
	rewriting := []string{"ident", workingTreeEncoding, "export-subst", exportIgnore}
	all, err := r.ask(ctx, at, paths, append(ask, append(rewriting, "filter", "text", "crlf", "eol")...))
	// What has git write other content counts wherever somebody may check it out: where
	// the letters of names differ in case, and where they do not.
	for _, ignore := range []string{"core.ignorecase=false", "core.ignorecase=true"} {
		if err != nil {
			break
		}
		var elsewhere map[string]Attributes
		elsewhere, err = r.ask(ctx, at, paths, append(append([]string{"-c", ignore}, ask...), rewriting...))
		for file, attributes := range elsewhere {
			for name := range attributes {
				if all[file].Value(name) == "" {
					all[file][name] = attributes[name]
				}
			}
		}
	}
	if err != nil {
		return nil, err
	}
	found := map[string]Attributes{}
	for name, end := range files {
		found[name] = maps.Clone(all[end])
		for _, at := range append(foldersOf(name, end), name) { // an archive without one of them lacks the file
			for _, of := range []Attributes{all[at], all[at+"/"]} {
				if of.Value(exportIgnore) != "" {
					found[name][exportIgnore] = of[exportIgnore]
				}
			}
		}
	}
	return found, nil
}

// ask asks git for attributes of files.
func (r *Repository) ask(ctx context.Context, at, files, ask []string) (map[string]Attributes, error) {
	all := map[string]Attributes{}
	said, err := r.run(ctx, r.top, at, strings.NewReader(strings.Join(files, "\x00")+"\x00"), ask...)
	fields := strings.Split(string(said), "\x00") // path, name and value, and again
	for ; len(fields) > 3; fields = fields[3:] {
		if all[fields[0]] == nil {
			all[fields[0]] = Attributes{}
		}
		all[fields[0]][fields[1]] = fields[2]
	}
	return all, err
}

// attributesOf writes an index of the .gitattributes alone that a commit has in some folders,
// outside the repository.
func (r *Repository) attributesOf(ctx context.Context, commit string, folders []string) (index string, remove func(), err error) {
	folder, err := os.MkdirTemp("", "svc-attributes-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	list := []string{"ls-tree", "--full-tree", "-z", commit, "--"}
	for _, at := range folders {
		list = append(list, path.Join(at, attributesName))
	}
	index = filepath.Join(folder, "index")
	entries, err := r.Run(ctx, nil, list...)
	var files strings.Builder
	for entry := range strings.SplitAfterSeq(string(entries), "\x00") {
		if fields := strings.Fields(entry); len(fields) > 1 && fields[1] == "blob" { // git takes no folder for attributes
			files.WriteString(entry)
		}
	}
	if err == nil {
		_, err = r.run(ctx, r.top, []string{"GIT_INDEX_FILE=" + index}, strings.NewReader(files.String()), "update-index", "-z", "--index-info")
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return index, remove, nil
}

// foldersOf are the folders that files lie in, up to the top, which is ".".
func foldersOf(files ...string) (folders []string) {
	seen := map[string]bool{}
	for _, file := range files {
		for at := path.Dir(file); !seen[at]; at = path.Dir(at) {
			seen[at] = true
			folders = append(folders, at)
		}
	}
	return folders
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

// Rewrites is the attribute that has git itself write other content of a file, or none, into
// a checkout or an archive than it holds, but for ends of lines: "" for none.
func (a Attributes) Rewrites(content []byte) string {
	switch encoding := a.Value(workingTreeEncoding); {
	case encoding != "" && encoding != "set" && !strings.EqualFold(encoding, "utf-8"):
		return workingTreeEncoding + "=" + encoding
	case a.Value("ident") == "set" && bytes.Contains(content, []byte("$Id")):
		return "ident"
	case a.Value("export-subst") == "set" && bytes.Contains(content, []byte("$Format:")):
		return "export-subst"
	case a.Value(exportIgnore) == "set":
		return exportIgnore
	}
	return ""
}

const (
	workingTreeEncoding = "working-tree-encoding"
	exportIgnore        = "export-ignore"
)

// SetAt is where the work tree sets an attribute, as Rewrites names it, for a file of the
// directory, or for a macro: the path from the directory, and the line. Where only git's own
// settings can have set it, there is no line.
func (r *Repository) SetAt(file, attribute string) (name string, line int) {
	for folder := path.Join(r.Prefix, path.Dir(file)); ; folder = path.Dir(folder) {
		at := filepath.Join(r.top, filepath.FromSlash(folder), attributesName)
		if line := lastLine(at, attribute); line > 0 {
			name, _ := filepath.Rel(r.dir, at)
			return filepath.ToSlash(name), line
		}
		if folder == "." {
			return file, 0
		}
	}
}

const attributesName = ".gitattributes"

// lastLine is the last line of a file that gives paths an attribute, 0 for none.
func lastLine(path, attribute string) (line int) {
	const most = 1 << 20
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return 0
	}
	text, _ := os.ReadFile(path)
	number := 0
	for one := range strings.Lines(string(text)) {
		number++
		if fields := strings.Fields(one); len(fields) > 0 && fields[0][0] != '#' && slices.Contains(fields[1:], attribute) {
			line = number
		}
	}
	return line
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

// Submodules are what lies below the directory and is a commit of another repository; "."
// for the directory itself.
func (r *Repository) Submodules(ctx context.Context) ([]string, error) {
	here := cmp.Or(r.Prefix, ".")
	list, err := r.run(ctx, r.top, nil, nil, "ls-files", "-s", "-z", "--", here)
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.SplitSeq(string(list), "\x00") {
		if about, at, _ := strings.Cut(line, "\t"); strings.HasPrefix(about, "160000 ") {
			below, err := filepath.Rel(filepath.FromSlash(here), filepath.FromSlash(at))
			if err != nil {
				return nil, err
			}
			found = append(found, filepath.ToSlash(below))
		}
	}
	return found, nil
}
