package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/git"
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
	if errors.Is(err, errNoCommit) { // and another commit was named
		head, err = before, nil
	}
	if err != nil {
		return nil, nil, err
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
	attributes, err := g.attributes(ctx, "", g.Prefix, head.sources, files)
	if err != nil {
		return nil, nil, err
	}
	for file, text := range files {
		if how := attributes[file].Rewrites(text); how != "" {
			after.problems = append(after.problems, datadir.Rewritten(file, how))
		}
	}
	automatic := strings.ToLower(g.Setting(ctx, "core.autocrlf"))
	reasons, err := g.notCheckedOut(ctx, head.sources, absent)
	if err != nil {
		return nil, nil, err
	}
	programs := map[string]bool{}
	for _, file := range differ {
		committed, known := head.content(file)
		filter := attributes[file].Filter()
		if _, asked := programs[filter]; !asked {
			programs[filter] = g.Setting(ctx, "filter."+filter+".clean")+g.Setting(ctx, "filter."+filter+".process") != ""
		}
		switch {
		case filter != "" && !programs[filter]: // so that git leaves the file as it is
			if !isJSON(files[file]) {
				after.encoded[file] = stored{files[file], filter}
				delete(after.files, file)
			}
		case filter != "" && known:
			reasons[file] = "it goes through the filter " + filter
		case known && string(files[file]) == head.link(file): // where git writes a link as a file
			after.files[file] = committed
		case attributes[file].ConvertsLineEnds(automatic):
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

// attributes are those of files at a commit, or in the checkout, of a directory that lies at
// a place of the repository, each under where it lies in that.
func (g gitDirectory) attributes(ctx context.Context, commit, place string, sources map[string]string, files map[string][]byte) (map[string]git.Attributes, error) {
	asked := map[string]string{}
	for file := range files {
		asked[path.Join(place, file)] = path.Join(place, cmp.Or(sources[file], file))
	}
	found, err := g.Attributes(ctx, commit, asked)
	all := map[string]git.Attributes{}
	for file := range files {
		all[file] = found[path.Join(place, file)]
	}
	return all, err
}
