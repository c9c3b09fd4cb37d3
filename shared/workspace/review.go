package workspace

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// Review is what changes of what an environment serves need.
type Review struct {
	Approvals        int      `json:"approvals"` // by so many people
	Roles            []string `json:"roles"`     // one of which each of them has; none is any
	AuthorMayApprove bool     `json:"authorMayApprove"`
}

const (
	reviewMember = "review"
	// MaxApprovals is how many approvals a change may need.
	MaxApprovals = 10
	maxRoles     = 20
)

// Reviews are those of the environments that have one. Whatever in the setting cannot be
// read asks for an approval: a setting that is misspelt opens nothing.
func (w *Workspace) Reviews() map[string]Review {
	reviews, _ := readReviews(w.Declaration.Tree, w.Environments)
	return reviews
}

func readReviews(declaration *jsontree.Node, environments []Environment) (map[string]Review, []document.Issue) {
	setting := declaration.Get(reviewMember)
	if setting == nil {
		return nil, nil
	}
	reviews := map[string]Review{}
	var issues []document.Issue
	note := func(pointer, format string, args ...any) {
		issues = append(issues, document.Issue{Code: problem.InvalidWorkspaceFile, Pointer: "/" + reviewMember + pointer, Message: fmt.Sprintf(format, args...)})
	}
	if setting.Kind != jsontree.Object {
		note("", `review is an object such as {"production": {"approvals": 1}}, not %s`, setting.Kind)
		for _, e := range environments {
			reviews[e.Name] = Review{Approvals: 1}
		}
	}
	for _, m := range setting.Members {
		at := jsontree.Pointer(m.Name)
		if !slices.ContainsFunc(environments, func(e Environment) bool { return e.Name == m.Name }) {
			note(at, "there is no environment %s whose changes could be reviewed", terminal.Quote(m.Name))
		}
		reviews[m.Name] = readReview(m.Value, func(pointer, format string, args ...any) { note(at+pointer, format, args...) })
	}
	return reviews, issues
}

func readReview(n *jsontree.Node, note func(pointer, format string, args ...any)) Review {
	r := Review{Approvals: 1}
	if n.Kind != jsontree.Object {
		note("", `the review of an environment is an object such as {"approvals": 1}, not %s`, n.Kind)
	}
	for _, m := range n.Members {
		at := jsontree.Pointer(m.Name)
		switch m.Name {
		case "approvals":
			if many, err := strconv.Atoi(m.Value.Literal()); err == nil && m.Value.Kind == jsontree.Number && many >= 1 && many <= MaxApprovals {
				r.Approvals = many
			} else {
				note(at, "approvals is how many people approve a change, 1 to %d; leave the environment out where nobody has to", MaxApprovals)
			}
		case "roles":
			if m.Value.Kind != jsontree.Array || len(m.Value.Items) == 0 || len(m.Value.Items) > maxRoles {
				note(at, "roles are those of which who approves has one, 1 to %d; leave them out where everybody may who may make the change", maxRoles)
			}
			for i, item := range m.Value.Items {
				role, ok := item.Text()
				if !ok || role == "" || slices.Contains(r.Roles, role) {
					note(fmt.Sprintf("%s/%d", at, i), "a role is its name, such as protected_engineer, and stands here once")
				}
				r.Roles = append(r.Roles, role)
			}
		case "authorMayApprove":
			var ok bool
			if r.AuthorMayApprove, ok = m.Value.Bool(); !ok {
				note(at, "authorMayApprove is true or false, not %s", m.Value.Kind)
			}
		default:
			note(at, "a review has approvals, roles and authorMayApprove, and no %s", terminal.Quote(m.Name))
		}
	}
	return r
}

// ReviewProblem says what is wrong with the reviews of a workspace file, or "".
func ReviewProblem(declaration *jsontree.Node) string {
	environments, _ := readEnvironments(declaration)
	if _, issues := readReviews(declaration, environments); len(issues) > 0 {
		return issues[0].Message
	}
	return ""
}

// Words are a review for people.
func (r Review) Words() string {
	words := fmt.Sprintf("approved by %d", r.Approvals)
	if len(r.Roles) > 0 {
		words += " with the role " + strings.Join(r.Roles, " or ")
	}
	if r.AuthorMayApprove {
		words += ", the author too"
	}
	return words
}

// SetReview writes what changes of an environment need into a workspace file; nil for
// nothing.
func SetReview(declaration *jsontree.Node, environment string, r *Review) {
	all := declaration.Get(reviewMember)
	if all == nil || all.Kind != jsontree.Object {
		all = jsontree.NewObject()
	}
	if r == nil {
		all.Delete(environment)
	} else {
		entry := jsontree.NewObject(jsontree.Field("approvals", jsontree.NewInt(int64(r.Approvals))))
		if len(r.Roles) > 0 {
			roles := jsontree.NewArray()
			for _, role := range r.Roles {
				roles.Items = append(roles.Items, jsontree.NewString(role))
			}
			entry.Set("roles", roles)
		}
		if r.AuthorMayApprove {
			entry.Set("authorMayApprove", jsontree.NewBool(true))
		}
		all.Set(environment, entry)
	}
	if len(all.Members) > 0 {
		declaration.Set(reviewMember, all)
	} else {
		declaration.Delete(reviewMember)
	}
}

// Reviewed are the environments, by name in order, of which a change of files has to be
// reviewed, as the workspace file before it says: what it serves changes, or which
// environments there are, or what has to be reviewed. A file that is not there is nil.
//
// It looks at all of a document that anybody could be served in the environment, told to
// nobody or not, and takes what it does not know for a part of that. What a schema allows
// is a part of what every environment may serve.
func Reviewed(declaration []byte, changed []Difference) []string {
	declared := Decode(File, declaration).Part
	reviews := declared.Reviews()
	if len(reviews) == 0 {
		return nil
	}
	all := slices.Sorted(maps.Keys(reviews))
	reached := map[string]bool{}
	for _, d := range changed {
		folder, _, known := SplitPath(d.Path)
		switch {
		case d.Path == File && !sameSettings(declared.Declaration.Tree, d.After),
			known && folder == Schemas && d.Before != nil && d.After != nil:
			return all
		case !known || folder == Schemas:
			continue
		}
		before, after := tree(d.Path, d.Before), tree(d.Path, d.After)
		for _, environment := range all {
			reached[environment] = reached[environment] || !bytes.Equal(servedIn(before, environment), servedIn(after, environment))
		}
	}
	return slices.DeleteFunc(all, func(environment string) bool { return !reached[environment] })
}

// Difference is a file before and after a change; nil where there is none.
type Difference struct {
	Path          string
	Before, After []byte
}

func tree(path string, text []byte) *jsontree.Node {
	if text == nil {
		return nil
	}
	return Decode(path, text).Tree
}

// sameSettings reports whether a workspace file leaves environments and reviews as they are.
func sameSettings(before *jsontree.Node, text []byte) bool {
	after := tree(File, text)
	for _, member := range []string{"environments", reviewMember} {
		if was, is := before.Get(member), after.Get(member); !jsontree.Equal(was, is) {
			return false
		}
	}
	return true
}

// unserved are the fields of a document that describe it to people.
var unserved = []string{"$schema", "name", "description", "owner", "access", "tags", "readyForCleanup", "schemaKey", "environments"}

// servedIn is all of a document that decides what an environment is served.
func servedIn(document *jsontree.Node, environment string) []byte {
	if document == nil {
		return nil
	}
	text := document.Without(unserved...).AppendCompact(nil)
	for _, entry := range document.Get("environments").Elements() {
		if id, named := entry.Get("id").Text(); !named || id == environment {
			text = entry.AppendCompact(text)
		}
	}
	return text
}
