package object

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckTree tells all that git fsck calls an error in the content of a tree: by the name of
// the entry, "" where it cannot be read. Of modes it takes those too that an older git wrote:
// 100664, and some with a zero in front.
func CheckTree(tree []byte, tell func(name, what string)) {
	var before RawEntry
	var above [][]byte // names that the last one begins with, and itself
	for rest := tree; len(rest) > 0; {
		e, after, err := NextEntry(rest)
		if err != nil {
			tell("", err.Error())
			return
		}
		for len(above) > 0 && !bytes.HasPrefix(e.Name, above[len(above)-1]) {
			above = above[:len(above)-1]
		}
		what := CheckName(e.Name)
		switch mode := strings.TrimLeft(modeOf(e.Mode), "0"); {
		case what != "":
		case len(above) > 0 && len(above[len(above)-1]) == len(e.Name):
			what = "there are two entries of that name"
		case before.Name != nil && before.Compare(e) > 0:
			what = fmt.Sprintf("it stands behind %.100q, and git sorts a tree by name", before.Name)
		case mode != ModeFile && mode != ModeFolder && mode != ModeExecutable && mode != ModeSymlink && mode != ModeSubmodule && mode != "100664":
			what = fmt.Sprintf("its mode is %s, which git knows not", e.Mode)
		}
		if what != "" {
			tell(string(e.Name), what)
		}
		before, above, rest = e, append(above, e.Name), after
	}
}

// Compare is git's order of a tree: a folder's name counts as if it ended in a slash.
func (e RawEntry) Compare(other RawEntry) int {
	n := min(len(e.Name), len(other.Name))
	if by := bytes.Compare(e.Name[:n], other.Name[:n]); by != 0 {
		return by
	}
	return cmp.Compare(e.charAt(n), other.charAt(n))
}

func (e RawEntry) charAt(n int) byte {
	switch {
	case n < len(e.Name):
		return e.Name[n]
	case e.Decode().IsFolder():
		return '/'
	}
	return 0
}

// CheckName says what keeps a name out of git's trees: it leads elsewhere, or to the
// repository itself, on Windows and macOS too.
func CheckName[T string | []byte](name T) string {
	switch text := string(name); {
	case text == "":
		return "its name is empty"
	case text == "." || text == "..":
		return "its name leads to a folder above"
	case strings.Contains(text, "/"):
		return "its name has a slash in it"
	case isDotGit(text):
		return "its name is git's own, or is taken for it on Windows or macOS"
	}
	return ""
}

// isDotGit reports whether a name is .git where the case does not count. Windows leaves out
// full stops and spaces at the end and what follows upon a colon, parts paths at backslashes,
// and has git~1 for it; macOS leaves out characters that nobody sees.
func isDotGit(name string) bool {
	if first := name[0] | 0x20; first != '.' && first != 'g' && strings.IndexFunc(name, func(r rune) bool { return r == '\\' || r >= utf8.RuneSelf }) < 0 {
		return false // as nearly all
	}
	for part := range strings.SplitSeq(name, `\`) {
		part, _, _ = strings.Cut(part, ":")
		if part = strings.TrimRight(part, ". "); strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return strings.EqualFold(".git", strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name))
}

// CheckCommit tells all that git fsck calls an error in the content of a commit.
func CheckCommit(commit []byte, tell func(what string)) {
	header, _, ended := bytes.Cut(commit, []byte("\n\n"))
	if !ended && !bytes.HasSuffix(commit, []byte("\n")) {
		tell("its header does not end")
	}
	if bytes.IndexByte(header, 0) >= 0 {
		tell("its header has a NUL in it")
	}
	if _, err := DecodeCommit(commit); err != nil {
		tell(err.Error())
	}
	people := map[string]int{}
	for line := range bytes.SplitSeq(header, []byte("\n")) {
		who, is, _ := bytes.Cut(line, []byte(" "))
		if string(who) != "author" && string(who) != "committer" {
			continue
		}
		people[string(who)]++
		if match := signature.FindSubmatch(is); match == nil {
			tell(fmt.Sprintf("its %s is %.100q, which is not: name <address> seconds zone", who, is))
		} else if _, err := strconv.ParseInt(string(match[1]), 10, 64); err != nil {
			tell(fmt.Sprintf("its %s wrote it at %.100q, which is no date", who, match[1]))
		}
	}
	for _, who := range []string{"author", "committer"} {
		if n := people[who]; n != 1 {
			tell(fmt.Sprintf("it has %d lines that say who its %s is", n, who))
		}
	}
}

var signature = regexp.MustCompile(`^[^<>\n]* <[^<>\n]*> (0|[1-9][0-9]*) [+-][0-9]{4}$`)
