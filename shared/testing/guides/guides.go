// Package guides reads the project's Markdown documents, so that tests can run
// what they show. A block that a test runs says so in its first line:
//
//	```sh snippet=walkthrough
//
// The test takes it with Snippet, by the names of the document and of the
// block. Package archtest holds that every block of a language that runs (sh,
// js, html, go) is one of these and has a test. A block of the language console
// is not run; the commands in it are held against the programs that they name.
package guides

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc.example/svc/shared/testing/must"
)

// A Block is a fenced block of a document.
type Block struct {
	Guide    string // the document, such as devserver/README.md
	Line     int    // of the opening fence, from 1
	Language string // "" where none is named
	Name     string // of a snippet, else ""
	Text     string // what is between the fences
}

// Root is the folder of go.mod, above the test's own.
func Root(t testing.TB) string {
	t.Helper()
	return must.Get(root())(t)
}

func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		} else if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
	}
}

// Read returns the text of a document, which is named from the root.
func Read(t testing.TB, guide string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(Root(t), filepath.FromSlash(guide))))(t)
	return string(text)
}

// All returns the names of the project's own documents, without those of
// packages that were installed for tests.
func All(t testing.TB) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(Root(t)), ".", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case path == "bin" || path == "dist": // what was built
			return fs.SkipDir
		case entry.IsDir() && (name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".") && path != "."):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md"):
			all = append(all, path)
		}
		return nil
	})
	must.Do(t, err)
	return all
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)(?: snippet=([a-z-]+))?\n(.*?)^```$")

// Blocks returns the fenced blocks of a document in their order.
func Blocks(guide, text string) []Block {
	var blocks []Block
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		b := Block{Guide: guide, Line: 1 + strings.Count(text[:at[0]], "\n"), Language: text[at[2]:at[3]], Text: text[at[6]:at[7]]}
		if at[4] >= 0 {
			b.Name = text[at[4]:at[5]]
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// Find returns the text of the one snippet of a document that has a name.
func Find(guide, name string) (string, error) {
	dir, err := root()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(guide)))
	if err != nil {
		return "", err
	}
	var found []Block
	for _, b := range Blocks(guide, string(text)) {
		if b.Name == name {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d blocks with snippet=%s, not 1", guide, len(found), name)
	}
	return found[0].Text, nil
}

// Snippet is Find for a test, which fails without the snippet.
func Snippet(t testing.TB, guide, name string) string {
	t.Helper()
	return must.Get(Find(guide, name))(t)
}

// A Command is a command line that a document shows.
type Command struct {
	Where string   // document and line
	Args  []string // without the program's name
}

var (
	span = regexp.MustCompile("`([^`]+)`")
	word = `(?:'[^']*'|"[^"]*"|[^\s'"#|<>;&()` + "`" + `])+`
)

// Commands returns each command of a program that the document shows in a block
// of commands or between backticks.
func Commands(guide, text, program string) []Command {
	call := regexp.MustCompile(`(?m)(?:^|[(|;&]|\$ )[ \t]*(?:[A-Z_]+=\S+ +)*(?:bin/)?` + program + `((?:[ \t]+` + word + `)+)`)
	words := regexp.MustCompile(word)
	var commands []Command
	add := func(line int, source string) {
		source = strings.ReplaceAll(source, "\\\n", "  ")
		for _, at := range call.FindAllStringSubmatchIndex(source, -1) {
			commands = append(commands, Command{
				Where: fmt.Sprintf("%s:%d", guide, line+strings.Count(source[:at[2]], "\n")),
				Args:  words.FindAllString(source[at[2]:at[3]], -1),
			})
		}
	}
	for _, b := range Blocks(guide, text) {
		if b.Language == "sh" || b.Language == "console" {
			add(b.Line+1, b.Text)
		}
	}
	prose := fence.ReplaceAllStringFunc(text, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
	for _, at := range span.FindAllStringSubmatchIndex(prose, -1) {
		if source := strings.Join(strings.Fields(prose[at[2]:at[3]]), " "); strings.HasPrefix(source, program+" ") {
			add(1+strings.Count(prose[:at[0]], "\n"), source)
		}
	}
	return commands
}

// CheckCommands holds each command of a program that any document shows against
// the program's command line: its subcommands and flags. Root makes a new one.
func CheckCommands(t *testing.T, program string, root func() *cobra.Command) {
	t.Helper()
	count := 0
	for _, guide := range All(t) {
		for _, c := range Commands(guide, Read(t, guide), program) {
			count++
			line := program + " " + strings.Join(c.Args, " ")
			cmd, rest, err := root().Find(c.Args)
			if err != nil {
				t.Errorf("%s: %s: %v", c.Where, line, err)
				continue
			}
			for _, arg := range rest {
				name, isFlag := strings.CutPrefix(arg, "--")
				name, _, _ = strings.Cut(name, "=")
				known := name == "help" || name == "version" || cmd.Flag(name) != nil
				if isFlag && !known || !isFlag && cmd.HasSubCommands() && cmd.HasParent() {
					t.Errorf("%s: %s: %q has no %s", c.Where, line, cmd.CommandPath(), arg)
				}
			}
		}
	}
	if count == 0 {
		t.Errorf("no document shows a command of %s", program)
	}
}

// CheckHelp holds the help of each command of a program against its command line: a
// command that takes arguments or flags beyond --json has examples, and each example is a
// command line that it accepts. Root makes a new one.
func CheckHelp(t *testing.T, program string, root func() *cobra.Command) {
	t.Helper()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				check(sub)
			}
		}
		takes := strings.ContainsAny(cmd.Use, "<[|")
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			takes = takes || !slices.Contains([]string{"help", "version", "json", "workspace", "data"}, f.Name)
		})
		examples := Commands(cmd.CommandPath()+" --help", "```console\n"+cmd.Example+"\n```\n", program)
		if takes && cmd.Runnable() && len(examples) == 0 {
			t.Errorf("%s --help shows no example", cmd.CommandPath())
		}
		for _, e := range examples {
			shown := program + " " + strings.Join(e.Args, " ")
			for i := range e.Args {
				e.Args[i] = strings.Trim(e.Args[i], `'"`)
			}
			of, rest, err := root().Find(e.Args)
			if err == nil {
				err = of.ParseFlags(rest)
			}
			if err == nil {
				err = of.ValidateArgs(of.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s --help shows %s: %v", cmd.CommandPath(), shown, err)
			}
		}
	}
	check(root())
}
