package workspace

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// Verify holds every document against what new content must be and against
// the others. It looks at what Read could read, and does not say again what Read said.
func Verify(ws *Workspace) []Problem {
	v := verifier{ws: ws, index: newIndex(ws), problems: &collector{}}
	v.verify()
	return v.problems.sorted()
}

func (v *verifier) verify() {
	ws := v.ws
	var expressions expression.Total
	v.declaration()
	for i := range ws.Items {
		if v.problems.ended {
			return
		}
		item, issues := ws.Items[i].decode()
		f := item.file()
		v.reported(issues)
		v.add(Error, f, document.Validate(item.Tree)...)
		if key := item.View.Key; key != "" && key != item.Key {
			v.add(Error, f, document.Issue{Code: problem.KeyMismatch, Pointer: "/key",
				Message: fmt.Sprintf("the key is %s, but the file is named %q: the name of the file is the key", terminal.Quote(key), item.Key+extension)})
		}
		if FolderOf(item.View.Type) != "" { // another type is no type at all, says Validate
			v.add(Error, f, typeIssues(item)...)
		}
		v.add(Error, f, v.index.referenceIssues(item)...)
		v.add(Error, f, schemaIssues(v.ws, item, new(document.Budget), everywhere)...)
		_, usable := Unservable(item)
		if err := expressions.Add(usable); err != nil { // there is no room for them
			v.add(Error, f, document.Issue{Code: problem.TooManyExpressions, Message: err.Error()})
		}
		if v.problems.each == nil { // which is told no warnings
			v.add(Warning, f, Warnings(item)...)
			v.add(Warning, f, plainSecretIssues(item.View)...)
		}
		v.fileName(f, item.Key)
		v.byteOrderMark(f)
	}
	v.known = nil
	for i := range ws.Schemas {
		if v.problems.ended {
			return
		}
		v.schema(&ws.Schemas[i])
	}
	v.sameSchemaNames()
	for _, circle := range circles(ws) {
		v.add(Error, circle.item.file(), circle.issue)
	}
	for _, deep := range newGraph(ws, &ofFlags).deep() {
		v.add(Error, deep.item.file(), deep.issue)
	}
}

// reported notes what Read says of the file that is verified next.
func (v *verifier) reported(issues []document.Issue) {
	v.known = make(map[string]string, len(issues))
	for _, issue := range issues {
		v.known[issue.Pointer] = issue.Message
	}
}

// Unservable finds what Read can read of a document and must not be served,
// since it would serve something other than was meant: a type that is not that
// of its folder, a regular expression that does not compile. Circles finds the
// rest of what must not be served. Of very many problems it tells the first.
// Beside them it returns the expressions that can be used.
func Unservable(item *Item) ([]Problem, expression.Set) {
	v := verifier{problems: &collector{}}
	v.add(Fatal, item.file(), typeIssues(item)...)
	var expressions expression.Set
	var issues []document.Issue
	for spot, criterion := range item.View.Criteria() {
		if message := expressionProblem(criterion, &expressions); message != "" {
			issues = append(issues, document.Issue{Code: problem.InvalidExpression, Pointer: spot.Pointer() + "/valueToMatch", Message: message})
		}
	}
	v.add(Fatal, item.file(), jsontree.Bounded(issues)...) // which looks for the lines once
	return v.problems.all(), expressions
}

// Circles finds segments and flags that refer to each other in a circle.
func Circles(ws *Workspace) []Problem {
	v := verifier{problems: &collector{}}
	for _, circle := range circles(ws) {
		v.add(Fatal, circle.item.file(), circle.issue)
	}
	return v.problems.all()
}

// ReadAndVerify is Read and then Verify, with each problem once.
func ReadAndVerify(files map[string][]byte) (*Workspace, []Problem) {
	var r reader
	r.verify(files)
	return &r.ws, r.problems.sorted()
}

// VerifyEach tells the problems of ReadAndVerify that are no warnings, however many
// there are, in no order, as long as the caller wants more.
func VerifyEach(files map[string][]byte, each func(p Problem) (more bool)) {
	r := reader{problems: collector{each: each}}
	r.verify(files)
}

func (r *reader) verify(files map[string][]byte) {
	r.read(files, nil)
	v := verifier{ws: &r.ws, index: newIndex(&r.ws), problems: &r.problems}
	v.verify()
}

// Verification finds what writes of documents would break in a workspace as it
// would be with them.
type Verification struct {
	index    *index
	known    map[string][]string // the segments or flags each refers to, as far as they were looked up
	asks     func() *graph
	together bool
	straight func() bool // no segments refer to each other in a circle
}

// NewVerification is of a workspace. It is used by one goroutine.
func NewVerification(ws *Workspace) *Verification {
	return &Verification{index: newIndex(ws), known: map[string][]string{},
		asks:     sync.OnceValue(func() *graph { return newGraph(ws, &ofFlags) }),
		straight: sync.OnceValue(func() bool { return len(circles(ws)) == 0 })}
}

// Together tells v that all documents it will be asked about are in the workspace
// already: what they are to each other is then found out once.
func (v *Verification) Together() { v.together = true }

// Of finds what a write of one document is refused for although the document by
// itself is right, with item in the place of what stands at its path. It does not
// look at the other documents again, but for the segments that a changed segment
// refers to, and what a document with prerequisites leads to.
func (v *Verification) Of(item Item) []document.Issue {
	return slices.Concat(v.index.referenceIssues(&item), v.circleThrough(&item), v.depthThrough(&item))
}

// Warnings finds what a document by itself will hardly do as it was meant: a
// rule that never matches, a value that is none of the variants, a misspelt
// name. They do not fail verification.
func Warnings(item *Item) []document.Issue {
	return slices.Concat(operatorIssues(item.View), prerequisiteWarnings(item.View), variantIssues(item.View), unboundIssues(item.View), operandWarnings(item.View), ruleWarnings(item.View), clientWarnings(item.View), misspelt(item.Tree, "", documentShape))
}

// SchemaIssues finds the values of a config that violate the JSON Schema its
// schemaKey names. A schema that is missing or does not compile is no problem
// of the values; see UnusableSchema. Where the allowance is exceeded they are not
// all. Of the confidential values only those are looked at whose pointer is among the
// written ones.
func SchemaIssues(ws *Workspace, item Item, allowance *document.Allowance, written func(pointer string) bool) []document.Issue {
	return schemaIssues(ws, &item, allowance.Budget(), written)
}

// Unheld is how many values of a config SchemaIssues does not look at because they are
// confidential.
func Unheld(item *Item, written func(pointer string) bool) (n int) {
	for spot, value := range item.View.Values() {
		masked := document.Masked(value.Content) && value.DecryptWith == "" && value.Type != document.ProvidedValue
		if masked || hidden(item.View, spot, value) && readableValue(value) != nil && !written(spot.Pointer()) {
			n++
		}
	}
	return n
}

func everywhere(string) bool { return true }

type verifier struct {
	ws       *Workspace
	index    *index
	problems *collector
	known    map[string]string // what Read says of the file that is being verified, by pointer: it is not said again
}

// file is a text and its tree, to locate issues in.
type file struct {
	path string
	tree *jsontree.Node
	text []byte
}

func (i *Item) file() file   { return file{i.Path, i.Tree, i.Text} }
func (s *Schema) file() file { return file{s.Path, s.Tree, s.Text} }

func (v *verifier) add(severity Severity, f file, issues ...document.Issue) {
	if len(v.known) > 0 {
		issues = slices.DeleteFunc(slices.Clone(issues), func(issue document.Issue) bool {
			message, known := v.known[issue.Pointer]
			return known && (issue.Pointer != "" || issue.Message == message)
		})
	}
	v.problems.locate(severity, f, issues)
}

// declaration verifies the workspace file: Read takes any name.
func (v *verifier) declaration() {
	f := file{File, v.ws.Declaration.Tree, v.ws.Declaration.Text}
	if f.tree == nil {
		return
	}
	var issues []document.Issue
	environments, read := readEnvironments(f.tree)
	_, reviews := readReviews(f.tree, environments)
	v.reported(read)
	for i, entry := range f.tree.Get("environments").Elements() {
		pointer := "/environments/" + strconv.Itoa(i)
		name, bare := entry.Text()
		if !bare {
			pointer += "/name"
			name, _ = entry.Get("name").Text()
		}
		if message := SlugProblem(name); message != "" && name != "" && name != document.DefaultScope { // said by Read
			issues = append(issues, document.Issue{Code: problem.InvalidEnvironmentName, Pointer: pointer, Message: message})
		}
	}
	v.add(Error, f, slices.Concat(issues, referencesIssue(f.tree), prerequisitesIssue(f.tree), reviews)...)
	v.add(Warning, f, misspelt(f.tree, "", fileShape)...)
	v.byteOrderMark(f)
}

func (v *verifier) schema(s *Schema) {
	if s.Tree == nil {
		return // said by Read
	}
	_, issues := s.Compiled()
	v.add(Error, s.file(), coded(problem.InvalidSchema, issues)...)
	v.fileName(s.file(), s.Key)
	v.byteOrderMark(s.file())
}

// coded are issues of one rule.
func coded(code problem.Code, issues []document.Issue) []document.Issue {
	all := slices.Clone(issues)
	for i := range all {
		all[i].Code = code
	}
	return all
}

func (v *verifier) byteOrderMark(f file) {
	if bytes.HasPrefix(f.text, byteOrderMark) {
		v.add(Warning, f, document.Issue{Code: problem.ByteOrderMark, Message: "begins with a byte order mark; save it as UTF-8 without one, other tools refuse it"})
	}
}

// typeIssues compares a document's type with its folder.
func typeIssues(item *Item) []document.Issue {
	folder, _, _ := SplitPath(item.Path)
	held, _ := folder.Type()
	t := item.View.Type
	if t == held || t == "" {
		return nil
	}
	message := fmt.Sprintf("the type is %s; the documents in %s have the type %s", terminal.Quote(string(t)), folder, held)
	if home := FolderOf(t); home != "" {
		message = fmt.Sprintf("the type is %s, which belongs in the folder %s; %s holds %s documents", t, home, folder, held)
	}
	return []document.Issue{{Code: problem.WrongFolder, Pointer: "/type", Message: message}}
}
