package command

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
)

// asCommitted is a file of a checkout that is compared as the last commit has it, and
// not as it lies there, and why.
type asCommitted struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// checkedOut makes of the files of a checkout what git would hold of them, to be compared
// with the state at a commit: ends of lines are those of git, and what only a program or
// another form would tell is what the last commit has. What the index says of files,
// such as that they shall be taken for unchanged, hides nothing.
func (g gitDirectory) checkedOut(ctx context.Context, before *gitState, files map[string][]byte) (*gitState, []asCommitted, error) {
	after := &gitState{files: maps.Clone(files), encoded: map[string]stored{}}
	head, err := g.at(ctx, "HEAD")
	if err != nil { // there is none, and another commit was named
		head = before
	}
	var differ, absent []string
	for file, text := range files {
		if was, read := before.files[file]; !read || !bytes.Equal(text, was) {
			differ = append(differ, file)
		}
	}
	for file := range head.sources {
		if _, there := files[file]; !there {
			absent = append(absent, file)
		}
	}
	attributes, err := g.attributes(ctx, head.sources, differ)
	if err != nil {
		return nil, nil, err
	}
	automatic := g.setting(ctx, "core.autocrlf")
	reasons, err := g.notCheckedOut(ctx, head.sources, absent)
	if err != nil {
		return nil, nil, err
	}
	programs := map[string]bool{}
	for _, file := range differ {
		committed, known := head.content(file)
		how := attributes[file].encoding(slices.Concat(committed, files[file]))
		filter := attributes[file].value("filter")
		if _, asked := programs[filter]; !asked {
			programs[filter] = g.setting(ctx, "filter."+filter+".clean")+g.setting(ctx, "filter."+filter+".process") != ""
		}
		switch {
		case how == filtered+filter && !programs[filter]: // so that git leaves the file as it is
			if !isJSON(files[file]) {
				after.encoded[file] = stored{files[file], how}
				delete(after.files, file)
			}
		case how != "" && known:
			reasons[file] = "it goes through " + how
		case known && string(files[file]) == head.link(file): // where git writes a link as a file
			after.files[file] = committed
		case attributes[file].convertsLineEnds(automatic):
			after.files[file] = bytes.ReplaceAll(files[file], []byte("\r\n"), []byte("\n"))
		}
	}
	var told []asCommitted
	for _, file := range slices.Sorted(maps.Keys(reasons)) {
		told = append(told, asCommitted{file, reasons[file]})
		delete(after.files, file)
		if text, read := head.files[file]; read {
			after.files[file] = text
		} else {
			after.encoded[file] = head.encoded[file]
		}
	}
	return after, told, nil
}

// setting is one of git's, "" when there is none.
func (g gitDirectory) setting(ctx context.Context, name string) string {
	value, err := g.Run(ctx, nil, "config", "--get", name)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(string(value)))
}

// notCheckedOut is which of the absent files a sparse checkout leaves out.
func (g gitDirectory) notCheckedOut(ctx context.Context, sources map[string]string, absent []string) (map[string]string, error) {
	reasons := map[string]string{}
	if len(absent) == 0 {
		return reasons, nil
	}
	list, err := g.Run(ctx, nil, "ls-files", "-t", "-z")
	left := map[string]bool{}
	for line := range strings.SplitSeq(string(list), "\x00") {
		if tag, file, _ := strings.Cut(line, " "); tag == "S" {
			left[file] = true
		}
	}
	for _, file := range absent {
		if left[sources[file]] {
			reasons[file] = "it is not checked out (sparse checkout)"
		}
	}
	return reasons, err
}

// gitAttributes are what git is told of a file in .gitattributes.
type gitAttributes map[string]string

// attributes are those of files, each under where it lies.
func (g gitDirectory) attributes(ctx context.Context, sources map[string]string, files []string) (map[string]gitAttributes, error) {
	all := map[string]gitAttributes{}
	if len(files) == 0 {
		return all, nil
	}
	var asked strings.Builder
	at := map[string][]string{}
	for _, file := range files {
		source := file
		if s, moved := sources[file]; moved {
			source = s
		}
		all[file] = gitAttributes{}
		at[source] = append(at[source], file)
		asked.WriteString(source + "\x00")
	}
	said, err := g.Run(ctx, strings.NewReader(asked.String()), "check-attr", "-z", "--stdin", "filter", "ident", "working-tree-encoding", "text", "crlf", "eol")
	fields := strings.Split(string(said), "\x00") // path, name and value, and again
	for ; len(fields) > 3; fields = fields[3:] {
		for _, file := range at[fields[0]] {
			all[file][fields[1]] = fields[2]
		}
	}
	return all, err
}

// value is that of an attribute, "" when it is not set.
func (a gitAttributes) value(name string) string {
	if v := a[name]; v != "unspecified" && v != "unset" {
		return v
	}
	return ""
}

const filtered = "the filter "

// encoding says what makes the file in a checkout another one than what git holds of
// it, but for ends of lines; "" when nothing does.
func (a gitAttributes) encoding(content []byte) string {
	switch filter, encoding := a.value("filter"), a.value("working-tree-encoding"); {
	case filter != "" && filter != "set":
		return filtered + filter
	case encoding != "" && encoding != "set" && !strings.EqualFold(encoding, "utf-8"):
		return "the encoding " + encoding
	case a.value("ident") == "set" && bytes.Contains(content, []byte("$Id")):
		return "the attribute ident"
	}
	return ""
}

// convertsLineEnds reports whether git holds a file with ends of lines that may be
// others in a checkout; automatic is core.autocrlf.
func (a gitAttributes) convertsLineEnds(automatic string) bool {
	text := a["text"]
	if text == "unspecified" {
		text = a["crlf"]
	}
	switch text {
	case "unset":
		return false
	case "unspecified":
		return a.value("eol") != "" || automatic == "true" || automatic == "input"
	}
	return true
}
