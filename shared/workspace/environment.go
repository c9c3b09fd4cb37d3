package workspace

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// Environment is one environment that a workspace declares.
type Environment struct {
	Name      string
	Type      string // production, staging, test, development; an open set
	Protected bool
	Archived  bool
	Position  int // among those of its type, from 1; 0 for none
}

var slug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// SlugProblem says why a name cannot be given to an environment, or "".
func SlugProblem(name string) string {
	switch {
	case name == document.DefaultScope:
		return `the environment name "default" is reserved: it names the default rules`
	case !slug.MatchString(name) || len(name) > maxEnvironmentName:
		return fmt.Sprintf("%s cannot name an environment: a name is lower-case letters, digits and single dashes between them, at most %d characters, such as qa-2", terminal.Quote(name), maxEnvironmentName)
	}
	return ""
}

// TypeProblem says why an environment cannot be of a type, or "". Types are an open set.
func TypeProblem(kind string) string {
	if !slug.MatchString(kind) || len(kind) > maxEnvironmentName {
		return fmt.Sprintf("%s cannot be the type of an environment: a type is lower-case letters, digits and single dashes between them, at most %d characters, such as production", terminal.Quote(kind), maxEnvironmentName)
	}
	return ""
}

const maxEnvironmentName = 100

// MaxEnvironments is how many environments a workspace may have, archived ones
// included: lists tell of each flag in each of them.
const MaxEnvironments = 200

var knownTypes = []string{"development", "test", "staging", "production"}

// typeOf is the type that a bare name declares, whose letters may be capital in older
// workspaces.
func typeOf(name string) string {
	if name = strings.ToLower(name); slices.Contains(knownTypes, name) {
		return name
	}
	return "development"
}

// SortEnvironments puts environments into the order in which they are listed:
// development, test, staging, production, then unknown types; within one those that have a
// position, by that, then the others, alphabetical.
func SortEnvironments(all []Environment) {
	rank := func(e Environment) int {
		if i := slices.Index(knownTypes, e.Type); i >= 0 {
			return i
		}
		return len(knownTypes)
	}
	position := func(e Environment) int { return cmp.Or(e.Position, MaxEnvironments+1) }
	slices.SortStableFunc(all, func(a, b Environment) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Type, b.Type), cmp.Compare(position(a), position(b)), cmp.Compare(a.Name, b.Name))
	})
}

// readEnvironments reads the environments of a workspace file. A name that is
// no slug is read as it is: older workspaces have them.
func readEnvironments(tree *jsontree.Node) ([]Environment, []document.Issue) {
	if tree.Kind != jsontree.Object {
		return nil, []document.Issue{{Code: problem.InvalidWorkspaceFile, Message: "the workspace file is a JSON object, not " + tree.Kind.String()}}
	}
	list := tree.Get("environments")
	if list == nil {
		return nil, []document.Issue{{Code: problem.InvalidWorkspaceFile, Pointer: "/environments", Message: `environments is missing: expected an array like ["development", "production"]`}}
	}
	if list.Kind != jsontree.Array {
		return nil, []document.Issue{{Code: problem.InvalidWorkspaceFile, Pointer: "/environments", Message: "environments is an array, not " + list.Kind.String()}}
	}
	var environments []Environment
	var issues []document.Issue
	seen := map[string]bool{}
	for i, entry := range list.Items {
		pointer := "/environments/" + strconv.Itoa(i)
		if i == MaxEnvironments {
			issues = append(issues, document.Issue{Code: problem.InvalidWorkspaceFile, Pointer: pointer,
				Message: fmt.Sprintf("a workspace has at most %d environments, archived ones included, and here are %d; remove those that nobody uses", MaxEnvironments, len(list.Items))})
			break
		}
		e, message := readEnvironment(entry)
		code := problem.InvalidWorkspaceFile
		switch {
		case message != "":
		case e.Name == document.DefaultScope:
			message, code = SlugProblem(e.Name), problem.InvalidEnvironmentName
		case seen[e.Name]:
			message = fmt.Sprintf("the environment %s is declared twice", terminal.Quote(e.Name))
		}
		if message != "" {
			issues = append(issues, document.Issue{Code: code, Pointer: pointer, Message: message})
			continue
		}
		seen[e.Name] = true
		environments = append(environments, e)
	}
	SortEnvironments(environments)
	return environments, issues
}

func readEnvironment(n *jsontree.Node) (e Environment, problem string) {
	if name, ok := n.Text(); ok {
		if name == "" {
			return e, "an environment's name is empty"
		}
		return Environment{Name: name, Type: typeOf(name)}, ""
	}
	name, ok := n.Get("name").Text()
	if !ok || name == "" {
		return e, `an environment is a name, or an object with a "name"`
	}
	e = Environment{Name: name, Type: typeOf(name)}
	if t := n.Get("environmentType"); t != nil {
		if e.Type, ok = t.Text(); !ok || e.Type == "" {
			return e, "environmentType is a string such as production"
		}
	}
	if at := n.Get("position"); at != nil {
		if e.Position, _ = strconv.Atoi(jsontree.NumberText(at.Literal())); e.Position < 1 || e.Position > MaxEnvironments {
			return e, fmt.Sprintf("position is a whole number from 1 to %d", MaxEnvironments)
		}
	}
	for member, into := range map[string]*bool{"protected": &e.Protected, "archived": &e.Archived} {
		if b := n.Get(member); b != nil {
			if *into, ok = b.Bool(); !ok {
				return e, member + " is true or false, not " + b.Kind.String()
			}
		}
	}
	return e, ""
}

// The member of the workspace file that says who may bring in values which read
// the environment of applications, and its one value.
const (
	secretReferences = "secretReferences"
	guardReferences  = "protected"
)

// GuardedReferences reports whether a value that reads the environment of
// applications may be brought in only with the permission to edit what is
// protected. Any setting says so: one that is misspelt opens nothing.
func (w *Workspace) GuardedReferences() bool {
	return w.Declaration.Tree.Get(secretReferences) != nil
}

// GuardReferences writes the setting into a workspace file.
func GuardReferences(declaration *jsontree.Node) {
	declaration.Set(secretReferences, jsontree.NewString(guardReferences))
}

// referencesIssue says what is wrong with the setting.
func referencesIssue(declaration *jsontree.Node) []document.Issue {
	setting := declaration.Get(secretReferences)
	if text, _ := setting.Text(); setting == nil || text == guardReferences {
		return nil
	}
	return []document.Issue{{Code: problem.InvalidWorkspaceFile, Pointer: "/" + secretReferences,
		Message: fmt.Sprintf("%s is %q; leave it out where everybody who edits a document may have it read the environment", secretReferences, guardReferences)}}
}
