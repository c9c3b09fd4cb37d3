package workspace

import (
	"fmt"
	"regexp"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

func operatorIssues(doc *document.Document) []document.Issue {
	var issues []document.Issue
	var expressions expression.Set
	for spot, criterion := range doc.Criteria() {
		if name := criterion.Operator; name != "" && !evaluation.Known(name) {
			issues = append(issues, document.Issue{Code: problem.UnknownOperator, Pointer: spot.Pointer() + "/operator",
				Message: fmt.Sprintf("the operator %s is not known here: the rule never matches%s", terminal.Quote(name), DidYouMean(name, evaluation.Operators()))})
		}
		if v := criterion.ValueToMatch; v != nil && document.Masked(v.Content) {
			continue
		}
		// An operand that refers or compiles to nothing is an error, said elsewhere.
		if criterion.Operator == evaluation.InSegment || criterion.Operator == evaluation.NotInSegment || expressionProblem(criterion, &expressions) != "" {
			continue
		}
		if criterion.PropertyName == "" && evaluation.Known(criterion.Operator) && criterion.Operator != document.AlwaysTrue {
			issues = append(issues, document.Issue{Code: problem.MissingProperty, Pointer: spot.Pointer(),
				Message: "propertyName is missing: " + criterion.Operator + " looks at a property, such as user.key"})
		}
		if message := evaluation.OperandProblem(criterion); message != "" {
			issues = append(issues, document.Issue{Code: problem.UnusableOperand, Pointer: spot.Pointer() + "/valueToMatch", Message: message})
		}
	}
	return issues
}

// variantIssues finds rule values that are none of the variants. An encrypted
// or provided value cannot be compared, nor can masked variants.
func variantIssues(doc *document.Document) []document.Issue {
	if len(doc.Variants) == 0 {
		return nil
	}
	variants := map[string]bool{}
	for _, variant := range doc.Variants {
		if document.Masked(variant.Value.Content) {
			return nil
		}
		variants[identity(variant.Value)] = true
	}
	var issues []document.Issue
	for spot, value := range doc.Served() {
		unreadable := value.DecryptWith != "" || value.Type == document.ProvidedValue || value.Content == nil
		if !unreadable && value.Type == doc.ValueType && !variants[identity(value)] {
			issues = append(issues, document.Issue{Code: problem.NotAVariant, Pointer: spot.Pointer(), Message: "this value is none of the variants"})
		}
	}
	return issues
}

// plainSecretIssues finds variants that say in the clear what a confidential
// value is.
func plainSecretIssues(doc *document.Document) []document.Issue {
	secrets := map[string]bool{}
	for _, value := range doc.Values() {
		if value.Confidential {
			secrets[identity(value)] = true
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	var issues []document.Issue
	for spot, value := range doc.Values() {
		if spot.Variant >= 0 && !value.Confidential && secrets[identity(value)] {
			issues = append(issues, document.Issue{Code: problem.PlainSecret, Pointer: spot.Pointer(),
				Message: "this variant is plain and equals a confidential value; mark it confidential too, or take it out"})
		}
	}
	return issues
}

// unboundIssues finds ciphertexts of ours that open in any item. One of another
// origin cannot be judged.
func unboundIssues(doc *document.Document) []document.Issue {
	var issues []document.Issue
	for spot, value := range doc.Values() {
		text, _ := value.Content.Text()
		if value.DecryptWith == "" || !document.UnboundCiphertext(text) {
			continue
		}
		issues = append(issues, document.Issue{Code: problem.UnboundCiphertext, Pointer: spot.Pointer() + "/value",
			Message: "this ciphertext opens in any item, also in one that it is copied into; encrypt it again for this one (client.Encrypt)"})
	}
	return issues
}

// identity is a text that is the same for values that are: the order of an
// object's members and the spelling of numbers do not count.
func identity(value document.Value) string {
	text := string(value.Type)
	if value.DecryptWith != "" {
		text += " encrypted"
	}
	return text + " " + value.Served().Canonical()
}

// fileName warns of a name that cannot be checked out everywhere.
func (v *verifier) fileName(f file, key string) {
	v.add(Warning, f, NameWarnings(key)...)
}

// NameWarnings say of a key that the file of the item cannot be checked out everywhere.
func NameWarnings(key string) []document.Issue {
	if message := windowsProblem(key); message != "" {
		return []document.Issue{{Code: problem.UnportableName, Message: message}}
	}
	return nil
}

// FileNameProblem says why a key that comes from elsewhere must not become the
// name of a file on a system, as runtime.GOOS names it, or "": it breaks the rule for
// keys, or Windows could not make the file.
func FileNameProblem(key, goos string) string {
	if problem := document.KeyProblem(key); problem != "" || goos != "windows" {
		return problem
	}
	return windowsProblem(key)
}

// device is the name of one. com0, lpt0 and those with superscript digits are taken on
// some versions only.
var device = regexp.MustCompile(`^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])$`)

// windowsProblem says why a file of this name cannot be made on Windows, or
// "". Devices keep their names whatever the case and whatever follows a dot.
func windowsProblem(key string) string {
	base, _, _ := strings.Cut(strings.ToLower(key), ".")
	switch {
	case device.MatchString(base):
		return fmt.Sprintf("the name %q cannot be checked out on Windows: %s names a device there", key, base)
	case strings.HasSuffix(key, ".") || strings.HasSuffix(key, " "):
		return fmt.Sprintf("the name %q breaks tools on Windows: it ends in a dot or a space", key)
	case strings.ContainsAny(key, `<>:"\|?*`) || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' }):
		return fmt.Sprintf("the name %q cannot be checked out on Windows: it has a character that is not allowed there", key)
	}
	return ""
}

// sameSchemaNames warns of schemas whose names differ in case only: they are
// one file on Windows and macOS. (Documents of that kind cannot be read.)
func (v *verifier) sameSchemaNames() {
	first := map[string]string{}
	for i := range v.ws.Schemas {
		s := &v.ws.Schemas[i]
		folded := strings.ToLower(s.Key)
		if other, taken := first[folded]; taken {
			v.add(Warning, s.file(), document.Issue{Code: problem.UnportableName, Message: fmt.Sprintf("differs from %s in case only: they are one file on Windows and macOS", other)})
			continue
		}
		first[folded] = s.Path
	}
}
