package object

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// latest is the end of the years that every reader of a date understands.
var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Check says everything that keeps a signature from standing in a commit that
// git fsck --strict is content with.
func (s Signature) Check() error {
	var problems []error
	if strings.TrimSpace(s.Name) == "" {
		problems = append(problems, errors.New("a name is needed"))
	}
	problems = append(problems, checkIdentity("name", s.Name), checkIdentity("e-mail address", s.Email))
	if s.When.Unix() < 0 || s.When.After(latest) {
		problems = append(problems, errors.New("the date must lie between 1970 and 9999"))
	}
	return errors.Join(problems...)
}

func checkIdentity(what, text string) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("the %s %q must be UTF-8", what, text)
	case strings.ContainsAny(text, "<>"):
		return fmt.Errorf("the %s %q must not contain < or >", what, text)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("the %s %q must not contain line breaks or other control characters", what, text)
	case strings.TrimSpace(text) != text:
		return fmt.Errorf("the %s %q must not begin or end with a space", what, text)
	}
	return nil
}

// CheckMessage says what keeps a text from being a commit's message.
func CheckMessage(message string) error {
	switch {
	case strings.TrimSpace(message) == "":
		return errors.New("a commit needs a message")
	case !utf8.ValidString(message):
		return errors.New("the message must be UTF-8")
	case strings.ContainsRune(message, 0):
		return errors.New("the message must not contain a NUL")
	}
	return nil
}
