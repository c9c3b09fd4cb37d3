package upstream

import (
	"encoding/json"
	"errors"
	"fmt"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Documents is the answer to GET /api/v2/configs, or an event of the stream of
// them.
type Documents struct {
	Environment, Workspace string
	// Version is that of all of it. Client is that of what browsers are served,
	// before any rule on the current time has turned: "" where the answer does not
	// tell it, as documents for them were left out, or the service is of a version
	// that does not.
	Version, Client string

	entries []json.RawMessage
}

// Entry is a document of one environment, in the form in which it is stored.
type Entry struct {
	Text     []byte // as it was sent
	Tree     *jsontree.Node
	Document *document.Document
}

// Read reads the frame of an answer. Entries has its documents.
func Read(body []byte) (*Documents, error) {
	var answer struct {
		Configs []json.RawMessage
		Meta    struct{ Version, ClientVersion, Environment, WorkspaceID string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, errors.New(`the answer is not of the form {"configs": [...], "meta": {...}}`)
	}
	if answer.Configs == nil || answer.Meta.Environment == "" {
		return nil, errors.New("the answer lacks configs or meta.environment: is this the address of a svc service?")
	}
	return &Documents{answer.Meta.Environment, answer.Meta.WorkspaceID, answer.Meta.Version, answer.Meta.ClientVersion, answer.Configs}, nil
}

// Entries decodes the documents one after the other. An entry that cannot be read is
// skipped; words say which and why, and tell nothing of its values.
func (d *Documents) Entries(visit func(Entry)) (skipped []string) {
	seen := map[string]bool{}
	for i, text := range d.entries {
		entry, problem := decodeEntry(text, d.Environment)
		key := entry.Document.Key
		if problem == "" && seen[key] {
			problem = "the key stands twice"
		}
		if problem != "" {
			skipped = append(skipped, fmt.Sprintf("configs[%d] %q: %s", i, key, problem))
			continue
		}
		seen[key] = true
		visit(entry)
	}
	return skipped
}

// Skipped is what a log was last told of entries that were skipped.
type Skipped string

// Note says how a log has those that are skipped now, and whether that is news.
func (s *Skipped) Note(entries []string) (text string, news bool) {
	if len(entries) > 0 {
		text = fmt.Sprintf("%d entries, the first: %s", len(entries), entries[0])
	}
	news = text != "" && text != string(*s)
	*s = Skipped(text)
	return text, news
}

// decodeEntry reads an entry as the stored document that it was made of, with
// the rules of one environment.
func decodeEntry(text []byte, environment string) (Entry, string) {
	entry := Entry{Text: text, Document: &document.Document{}}
	tree, err := jsontree.Parse(text)
	if err != nil {
		return entry, "not JSON"
	}
	if tree.Kind != jsontree.Object {
		return entry, "not an object"
	}
	environments := jsontree.NewArray()
	if own := tree.Get("environment"); own != nil && own.Kind == jsontree.Object {
		own.Set("id", jsontree.NewString(environment))
		environments = jsontree.NewArray(own)
	} else if own != nil && own.Kind != jsontree.Null {
		return entry, "environment is not an object"
	}
	tree.Delete("environment")
	tree.Set("environments", environments)
	markWithheld(tree)
	doc, issues := document.Decode(tree)
	entry.Tree, entry.Document = tree, doc
	if len(issues) > 0 {
		return entry, issues[0].Pointer + ": " + issues[0].Message
	}
	switch doc.Type {
	case document.Flag, document.Config, document.LogLevel, document.Segment:
		return entry, ""
	}
	return entry, "its type is not one that is known here"
}

// markWithheld marks the values that the service keeps to itself: confidential
// ones, which it sends without their content.
func markWithheld(tree *jsontree.Node) {
	scopes := []*jsontree.Node{tree.Get("default")}
	scopes = append(scopes, tree.Get("environments").Elements()...)
	for _, scope := range scopes {
		for _, rule := range scope.Get("rules").Elements() {
			withhold(rule.Get("value"))
			for _, arm := range rule.Get("value").Get("value").Get("weightedValues").Elements() {
				withhold(arm.Get("value"))
			}
		}
	}
	for _, variant := range tree.Get("variants").Elements() {
		withhold(variant.Get("value"))
	}
}

func withhold(value *jsontree.Node) {
	if confidential, _ := value.Get("confidential").Bool(); confidential && value.Get("value") == nil {
		value.Set("type", jsontree.NewString(string(document.ProvidedValue)))
		value.Set("value", jsontree.NewObject(jsontree.Field("source", jsontree.NewString(WithheldSource))))
	}
}

// WithheldSource marks, as the source of a provided value, one that the service
// keeps to itself.
const WithheldSource = "withheld by the service"
