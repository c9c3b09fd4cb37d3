package webhook

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"svc.example/svc/shared/document"
)

// payload is what is sent in the standard form.
type payload struct {
	Type      string    `json:"type"` // a kind, or ping
	Timestamp time.Time `json:"timestamp"`
	Workspace string    `json:"workspaceId"`
	Link      string    `json:"link,omitempty"`
	// PreviousParked: what happened before to one of these items was given up.
	PreviousParked bool            `json:"previousParked"`
	Data           json.RawMessage `json:"data"`
}

const (
	maxData  = 64 << 10
	maxLines = 20
	maxLine  = 300 // characters
)

// body is an event in a form. Base is the address of the console; "" for none.
func (e *Event) body(form, workspace, base string, previousParked bool) ([]byte, error) {
	title, link, lines := document.WordsWithin(spoken(e.Title), maxLine), "", []string{}
	if base != "" && e.Link != "" {
		link = base + e.Link
	}
	for _, line := range e.Lines[:min(len(e.Lines), maxLines)] {
		lines = append(lines, document.WordsWithin(spoken(line), maxLine))
	}
	if len(e.Lines) > maxLines {
		lines = append(lines, "and more")
	}
	if previousParked {
		lines = append(lines, "Something before this was given up and is missing here; the settings show it.")
	}
	switch form {
	case FormSlack:
		return slack(title, link, lines)
	case FormTeams:
		return teams(title, link, lines)
	}
	return json.Marshal(payload{e.Kind, e.At, workspace, link, previousParked, e.Data})
}

// spoken is a line as one says it in a chat: what programs read of a switch is its value.
func spoken(line string) string {
	for said, word := range map[string]string{"enabled set to true": "turned on", "enabled set to false": "turned off"} {
		if before, is := strings.CutSuffix(line, said); is {
			return before + word
		}
	}
	return line
}

// forSlack writes the characters that Slack makes mentions and links of as it wants them.
var forSlack = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slack(title, link string, lines []string) ([]byte, error) {
	text := "*" + strings.ReplaceAll(forSlack.Replace(title), "*", "∗") + "*"
	for _, line := range lines {
		text += "\n• " + forSlack.Replace(line)
	}
	if link != "" {
		text += "\n<" + strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E", "&", "&amp;").Replace(link) + "|Open in the console>"
	}
	return json.Marshal(map[string]any{"text": text, "unfurl_links": false})
}

// teams makes an Adaptive Card whose texts are runs, in which nothing is Markdown.
func teams(title, link string, lines []string) ([]byte, error) {
	block := func(text string, more map[string]any) map[string]any {
		run := map[string]any{"type": "TextRun", "text": cmp.Or(text, " ")}
		for name, value := range more {
			run[name] = value
		}
		return map[string]any{"type": "RichTextBlock", "inlines": []any{run}}
	}
	body := []any{block(title, map[string]any{"weight": "Bolder"})}
	for _, line := range lines {
		body = append(body, block(line, nil))
	}
	card := map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body}
	if link != "" {
		card["actions"] = []any{map[string]any{"type": "Action.OpenUrl", "title": "Open in the console", "url": link}}
	}
	return json.Marshal(map[string]any{"type": "message", "attachments": []any{
		map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}})
}
