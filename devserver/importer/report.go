package importer

import (
	"fmt"
	"strings"
)

// Markdown is what became of each flag, as a page.
func (r *Result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Import from %s\n\n| outcome | flags |\n|---|---|\n", r.System)
	for i := range outcomes {
		fmt.Fprintf(&b, "| %s | %d |\n", Outcome(i), r.Count(Outcome(i)))
	}
	b.WriteString("\n")
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "- %s\n", note)
	}
	b.WriteString("\n| flag | outcome | file | where | why |\n|---|---|---|---|---|\n")
	for _, item := range r.Items {
		reasons := item.Reasons
		if len(reasons) == 0 {
			reasons = []Reason{{Pointer: item.Pointer}}
		}
		for _, reason := range reasons {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cell(item.Key), item.Outcome, cell(item.File), cell(reason.Pointer), cell(reason.Message))
		}
	}
	return b.String()
}

// cell is a text of others in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", "`", "\\`", "[", `\[`).Replace(text)
}
