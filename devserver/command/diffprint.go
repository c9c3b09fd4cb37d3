package command

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/impact"
	"svc.example/svc/shared/terminal"
)

// diffFormats print a difference, by the name of the format.
var diffFormats = map[string]func(Invocation, *difference) error{
	"json":     func(in Invocation, d *difference) error { return cli.JSON(in.Stdout, d) },
	"text":     func(in Invocation, d *difference) error { return in.write(d.as(inText)) },
	"markdown": func(in Invocation, d *difference) error { return in.write(d.as(markdown)) },
	"github":   func(in Invocation, d *difference) error { return in.commands(d.github()) },
}

func (in Invocation) write(text string) error {
	_, err := io.WriteString(in.Stdout, text)
	return err
}

// commands prints workflow commands, whose texts commandData and commandProperty escape.
func (in Invocation) commands(lines string) error {
	if out, ok := in.Stdout.(*terminal.Writer); ok {
		return out.Commands(lines)
	}
	return in.write(lines)
}

// valueInWords is a value of an impact, cut to what a line holds.
func valueInWords(value json.RawMessage) string {
	const most = 60
	if value == nil {
		return "(confidential)"
	}
	return terminal.Cut(string(value), most)
}

// layout is how people are shown a difference: formats of its parts, and words for none.
type layout struct {
	escape                                 func(string) string
	head, change, message, unchanged, note string
	impact, nobody, environment, between   string
	values                                 func(to io.Writer, e *impact.Environment)
	// most is how many bytes of changes are shown; 0 for any number. shortened says that there
	// are more, before all others.
	most      int
	shortened string
}

// maxComment is less than the 65,536 characters that a comment on a pull request may have: a
// longer one is not posted at all. It leaves room for the impact.
const maxComment = 40_000

var inText = layout{escape: terminal.Escape, change: "%s\n", message: "  %s\n", unchanged: "nothing was changed\n", note: "%s\n",
	impact: "\n", nobody: "nobody is served anything else\n", environment: "%s: %s\n",
	values: func(to io.Writer, e *impact.Environment) {
		rows := make([][]string, 0, len(e.Values))
		for _, v := range e.Values {
			rows = append(rows, []string{"  " + v.Key, valueInWords(v.Before), "->", valueInWords(v.After), fmt.Sprint(v.Count)})
		}
		_ = cli.Table(to, rows) // into memory: it cannot fail
		for _, x := range e.Examples {
			fmt.Fprintf(to, "  such as %s: %s %s -> %s\n", terminal.Escape(whose(x)), terminal.Escape(x.Key), terminal.Escape(valueInWords(x.Before)), terminal.Escape(valueInWords(x.After)))
		}
	}}

var markdown = layout{most: maxComment, shortened: "**Not all of it is shown here, since it is too long.** %s. They are listed in that order; `svc diff %.10s` lists all.\n\n", escape: inMarkdown, head: "### Flags and configuration\n\n", change: "- **%s**\n", message: "  - %s\n", unchanged: "Nothing was changed.\n", note: "\n%s\n",
	impact: "\n### Impact\n\n", nobody: "Nobody is served anything else.\n", environment: "**%s**: %s\n", between: "\n",
	values: func(to io.Writer, e *impact.Environment) {
		if len(e.Values) > 0 {
			fmt.Fprint(to, "\n| flag or config | before | after | contexts |\n| --- | --- | --- | ---: |\n")
		}
		for _, v := range e.Values {
			fmt.Fprintf(to, "| %s | %s | %s | %d |\n", inMarkdown(v.Key), inMarkdown(valueInWords(v.Before)), inMarkdown(valueInWords(v.After)), v.Count)
		}
	}}

func (d *difference) as(l layout) string {
	var b strings.Builder
	b.WriteString(l.head)
	var changes strings.Builder
	for _, c := range d.Changes {
		changes.WriteString(l.of(c))
	}
	if l.most > 0 && changes.Len() > l.most {
		d.shorten(&b, l)
	} else {
		b.WriteString(changes.String())
	}
	if len(d.Changes) == 0 {
		b.WriteString(l.unchanged)
	}
	for _, note := range d.notes() {
		fmt.Fprintf(&b, l.note, l.escape(note))
	}
	if d.Impact == nil {
		return b.String()
	}
	b.WriteString(l.impact)
	if len(d.reached) == 0 {
		b.WriteString(l.nobody)
	}
	for i, name := range d.reached {
		if i > 0 {
			b.WriteString(l.between)
		}
		fmt.Fprintf(&b, l.environment, l.escape(name), summary(d.Impact[name]))
		l.values(&b, d.Impact[name])
	}
	return b.String()
}

func (l layout) of(c fileChange) string {
	var b strings.Builder
	fmt.Fprintf(&b, l.change, l.escape(c.subject()))
	for _, m := range c.Messages {
		fmt.Fprintf(&b, l.message, l.escape(m.Message))
	}
	return b.String()
}

// rank is where a change stands in what is shortened: what may be served otherwise comes first.
func (c fileChange) rank() int {
	switch {
	case c.added:
		return 2
	case c.Type == "" || slices.ContainsFunc(c.Messages, func(m activity.Message) bool { return m.Scope != "" || strings.HasPrefix(m.Message, "deleted") }):
		return 0
	}
	return 1
}

// shorten writes what there is room for. Nobody can crowd out a change of what is served by
// adding much else, without that being said at the top.
func (d *difference) shorten(b *strings.Builder, l layout) {
	ordered := slices.Clone(d.Changes)
	slices.SortStableFunc(ordered, func(x, y fileChange) int { return x.rank() - y.rank() })
	var of [3]int
	for _, c := range ordered {
		of[c.rank()]++
	}
	fmt.Fprintf(b, l.shortened, fmt.Sprintf("%d change in what they serve or are deleted, %d otherwise, %d are added", of[0], of[1], of[2]), d.From)
	written := 0
	for i, c := range ordered {
		text := l.of(c)
		if written += len(text); written > l.most {
			fmt.Fprintf(b, l.note, fmt.Sprintf("and %s more", cli.Plural(len(ordered)-i, "item")))
			return
		}
		b.WriteString(text)
	}
}

func summary(e *impact.Environment) string {
	text := fmt.Sprintf("%d of %s would be served something else", e.Changed, cli.Plural(e.Contexts, "context"))
	if e.Chance > 0 {
		text += fmt.Sprintf("; chance decides for %d, which have nothing that a split goes by", e.Chance)
	}
	if e.Truncated {
		text += "; the values that most go to are listed"
	}
	return text
}

// whose names the context of an example: user u-1 (Ada).
func whose(x impact.Example) string {
	text := strings.TrimSpace(x.Type + " " + x.ContextKey)
	if text == "" {
		text = "a context without a key"
	}
	if x.Name != nil {
		text += " (" + *x.Name + ")"
	}
	return text
}

// inMarkdown is a text that Markdown takes for nothing but a text. Names of people
// are not among what is printed: a comment is read by many.
func inMarkdown(text string) string {
	var b strings.Builder
	for _, r := range terminal.Printable(text) {
		if strings.ContainsRune("\\`*_{}[]()<>#+!|~&@$", r) || r == ':' && strings.HasSuffix(b.String(), ":") {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// github are annotations: workflow commands of GitHub Actions.
func (d *difference) github() string {
	var b strings.Builder
	for _, c := range d.Changes {
		var lines []string
		for _, m := range c.Messages {
			lines = append(lines, m.Message)
		}
		fmt.Fprintf(&b, "::notice file=%s,title=%s::%s\n", commandProperty(path.Join(d.prefix, c.Path)), commandProperty(c.subject()), commandData(strings.Join(lines, "\n")))
	}
	for _, note := range d.notes() {
		fmt.Fprintf(&b, "::notice::%s\n", commandData(note))
	}
	for _, name := range d.reached {
		e := d.Impact[name]
		lines := []string{summary(e)}
		for _, v := range e.Values {
			lines = append(lines, fmt.Sprintf("%s: %s -> %s: %d", v.Key, valueInWords(v.Before), valueInWords(v.After), v.Count))
		}
		fmt.Fprintf(&b, "::notice title=%s::%s\n", commandProperty("Impact in "+name), commandData(strings.Join(lines, "\n")))
	}
	return b.String()
}

// commandData and commandProperty escape a text of a workflow command, so that it
// cannot begin another one.
func commandData(text string) string { return dataEscapes.Replace(text) }

func commandProperty(text string) string { return propertyEscapes.Replace(text) }

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", "##[", `##\u005b`, "::", `:\u003a`)
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", "##[", `##\u005b`, ":", "%3A", ",", "%2C")
)
