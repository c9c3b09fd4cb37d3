package access

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Workspace is the record of a workspace.
type Workspace struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// BillingInactive refuses writes: the subscription has lapsed.
	BillingInactive bool `json:"billingInactive,omitempty"`
	// Provisioning refuses everything until the workspace is set up.
	Provisioning bool `json:"provisioning,omitempty"`
	// Secret signs cursors.
	Secret []byte `json:"secret"`
}

const cursorSecretBytes = 32

// NewWorkspace draws the id and the secret of a workspace.
func NewWorkspace(random io.Reader, name string) (Workspace, error) {
	w := Workspace{Name: PlainName(name), Secret: make([]byte, cursorSecretBytes)}
	if w.Name == "" {
		return w, errors.New("a workspace needs a name")
	}
	id, err := NewID(random)
	if err != nil {
		return w, err
	}
	if _, err := io.ReadFull(random, w.Secret); err != nil {
		return w, fmt.Errorf("drawing the secret of a workspace: %w", err)
	}
	w.ID = string(id)
	return w, nil
}

// Check says what is wrong with the record of a new workspace.
func (w Workspace) Check() error {
	var problems []error
	if _, err := ParseID(w.ID); err != nil {
		problems = append(problems, fmt.Errorf("workspace: %w", err))
	}
	if len(w.Secret) == 0 {
		problems = append(problems, fmt.Errorf("workspace: a secret is needed, which signs cursors: %d random bytes", cursorSecretBytes))
	}
	return errors.Join(problems...)
}

// words are the record as the audit trail tells it, without the secret.
func (w Workspace) words() []string {
	words := []string{"name " + w.Name}
	if w.BillingInactive {
		words = append(words, "billing inactive")
	}
	if w.Provisioning {
		words = append(words, "provisioning")
	}
	return words
}

// PlainName keeps a name to what a registry and a commit can hold, and every
// tool can show: git prints authors as they are.
func PlainName(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, " "), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}
