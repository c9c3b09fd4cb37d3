package document

import (
	"strconv"
	"unicode/utf8"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
)

// Decode reads the view of a stored document. The issues are what it could
// not make sense of; with any, the view holds the rest.
func Decode(tree *jsontree.Node) (*Document, []Issue) {
	var d decoder
	doc := d.document(tree)
	if len(d.issues) > 0 {
		d = decoder{pointers: true}
		doc = d.document(tree)
	}
	return doc, d.issues
}

// decoder collects issues while it walks, so that a document's author sees
// all of them at once.
type decoder struct {
	// pointers says that there are issues, whose places are to be told. Without
	// any, pointers are empty: most documents are sound, and writing down each
	// place takes as long as all else.
	pointers bool
	issues   []Issue
}

// below is where a part of what stands at a pointer stands.
func (d *decoder) below(pointer, part string) string {
	if !d.pointers {
		return ""
	}
	return pointer + part
}

// in is below for an element of a list.
func (d *decoder) in(pointer, list string, i int) string {
	if !d.pointers {
		return ""
	}
	return at(pointer+list, i)
}

func (d *decoder) issue(code problem.Code, pointer, message string) {
	d.issues = append(d.issues, Issue{Code: code, Pointer: pointer, Message: message})
}

func (d *decoder) document(tree *jsontree.Node) *Document {
	doc := &Document{}
	if tree.Kind != jsontree.Object {
		d.issue(problem.InvalidField, "", "a document is a JSON object, not "+tree.Kind.String())
		return doc
	}
	doc.ID = short(d.text(tree, "", "id", false))
	doc.Key = d.text(tree, "", "key", true)
	doc.Type = Type(d.text(tree, "", "type", true))
	doc.ValueType = ValueType(d.text(tree, "", "valueType", true))
	doc.Name = d.text(tree, "", "name", false)
	doc.Description = d.text(tree, "", "description", false)
	doc.Access = d.text(tree, "", "access", false)
	doc.SchemaKey = d.text(tree, "", "schemaKey", false)
	doc.ReadyForCleanup = d.boolean(tree, "", "readyForCleanup")
	doc.SendToClientSDK = d.boolean(tree, "", "sendToClientSdk")
	for i, tag := range d.list(tree, "", "tags", false) {
		if text, ok := tag.Text(); ok {
			doc.Tags = append(doc.Tags, text)
		} else {
			d.issue(problem.InvalidField, at("/tags", i), "a tag is a string, not "+tag.Kind.String())
		}
	}
	d.scopes(tree, doc)
	for i, variant := range d.list(tree, "", "variants", false) {
		doc.Variants = append(doc.Variants, d.variant(variant, d.in("", "/variants", i)))
	}
	doc.Confidential = doc.holdsConfidential()
	return doc
}

func (d *decoder) scopes(tree *jsontree.Node, doc *Document) {
	if def := tree.Get("default"); d.object(def, "/default", "the default scope") {
		doc.Default = d.rules(def, "/default")
	}
	for i, entry := range d.list(tree, "", "environments", false) {
		pointer := d.in("", "/environments", i)
		var e Environment // kept even when it is nothing: indexes are those of the tree
		if d.object(entry, pointer, "an entry of environments") {
			e = Environment{ID: d.text(entry, pointer, "id", true), Rules: d.rules(entry, pointer)}
		}
		doc.Environments = append(doc.Environments, e)
	}
}

func (d *decoder) rules(scope *jsontree.Node, pointer string) []Rule {
	list := d.list(scope, pointer, "rules", true)
	rules := make([]Rule, 0, len(list))
	for i, entry := range list {
		rules = append(rules, d.rule(entry, d.in(pointer, "/rules", i)))
	}
	return rules
}

func (d *decoder) rule(n *jsontree.Node, pointer string) Rule {
	var rule Rule
	if !d.object(n, pointer, "a rule") {
		return rule
	}
	for i, entry := range d.list(n, pointer, "criteria", true) {
		rule.Criteria = append(rule.Criteria, d.criterion(entry, d.in(pointer, "/criteria", i)))
	}
	rule.Value = d.value(n.Get("value"), d.below(pointer, "/value"), true)
	return rule
}

func (d *decoder) criterion(n *jsontree.Node, pointer string) Criterion {
	var c Criterion
	if !d.object(n, pointer, "a criterion") {
		return c
	}
	c.Operator = d.text(n, pointer, "operator", true)
	c.PropertyName = d.text(n, pointer, "propertyName", false)
	if match := n.Get("valueToMatch"); match != nil && match.Kind != jsontree.Null {
		// What an operator makes of the content is the operator's business.
		at := d.below(pointer, "/valueToMatch")
		if d.object(match, at, "valueToMatch") {
			v := d.valueHead(match, at)
			c.ValueToMatch = &v
		}
	}
	return c
}

func (d *decoder) variant(n *jsontree.Node, pointer string) Variant {
	var v Variant
	if !d.object(n, pointer, "a variant") {
		return v
	}
	v.Name = short(d.text(n, pointer, "name", false))
	v.Description = d.text(n, pointer, "description", false)
	v.Value = d.value(n.Get("value"), d.below(pointer, "/value"), false)
	return v
}

func (d *decoder) value(n *jsontree.Node, pointer string, weighted bool) Value {
	if !d.object(n, pointer, "a value") {
		return Value{}
	}
	v := d.valueHead(n, pointer)
	if v.Type == WeightedValue {
		if !weighted {
			d.issue(problem.InvalidField, pointer+"/type", "weighted_values may stand only as the value of a rule")
			return v
		}
		v.Weighted = d.weighted(v.Content, d.below(pointer, "/value"))
		split := v
		for i := range v.Weighted.Arms {
			arm := &v.Weighted.Arms[i].Value
			arm.Confidential = arm.Confidential || split.Confidential
			if arm.DecryptWith == "" {
				arm.DecryptWith = split.DecryptWith
			}
		}
		return v
	}
	d.content(v, pointer)
	return v
}

// content reports a list's wrong elements each at its own place, and anything
// else at the content's.
func (d *decoder) content(v Value, pointer string) {
	message := v.ContentProblem()
	if message == "" {
		return
	}
	pointer += "/value"
	if v.Type != StringListValue || v.DecryptWith != "" || v.Content == nil || v.Content.Kind != jsontree.Array {
		d.issue(problem.InvalidValue, pointer, message)
		return
	}
	for i, item := range v.Content.Items {
		if item.Kind != jsontree.String {
			d.issue(problem.InvalidValue, at(pointer, i), "a string_list holds strings only, not "+item.Kind.String())
		}
	}
}

func (d *decoder) valueHead(n *jsontree.Node, pointer string) Value {
	// A mark that says nothing was meant to say something: what it was to hide is
	// not served for a slip.
	if marker := n.Get("confidential"); marker != nil && marker.Absent() {
		d.issue(problem.InvalidField, pointer+"/confidential", "confidential is true or false, not null")
	}
	if marker := n.Get("decryptWith"); marker != nil && text(marker) == "" && (marker.Absent() || marker.Kind == jsontree.String) {
		d.issue(problem.InvalidField, pointer+"/decryptWith", "decryptWith is the key of a config; leave it out when the value is not encrypted")
	}
	return Value{
		Type:         ValueType(d.text(n, pointer, "type", true)),
		Content:      n.Get("value"),
		Confidential: d.boolean(n, pointer, "confidential"),
		DecryptWith:  d.text(n, pointer, "decryptWith", false),
	}
}

func (d *decoder) weighted(n *jsontree.Node, pointer string) *Weighted {
	w := &Weighted{}
	if !d.object(n, pointer, "the value of weighted_values") {
		return w
	}
	w.HashByProperty = d.text(n, pointer, "hashByPropertyName", false)
	d.boolean(n, pointer, "splitEvenly")
	d.misplaced(n, pointer, `protects nothing beside weightedValues; write it beside "type": "weighted_values", or into each arm's value`)
	arms := d.list(n, pointer, "weightedValues", true)
	if len(arms) == 0 && n.Get("weightedValues") != nil {
		d.issue(problem.InvalidField, pointer+"/weightedValues", "a split needs at least one arm")
	}
	for i, entry := range arms {
		w.Arms = append(w.Arms, d.arm(entry, d.in(pointer, "/weightedValues", i)))
	}
	return w
}

func (d *decoder) arm(n *jsontree.Node, pointer string) Arm {
	var arm Arm
	if !d.object(n, pointer, "an arm of weightedValues") {
		return arm
	}
	arm.Value = d.value(n.Get("value"), d.below(pointer, "/value"), false)
	d.misplaced(n, pointer, "protects nothing beside weight; write it into the arm's value, beside its type")
	weight, err := strconv.ParseInt(jsontree.NumberText(n.Get("weight").Literal()), 10, 64)
	if err != nil || weight < 0 || weight > FullWeight {
		d.issue(problem.InvalidValue, pointer+"/weight", "a weight is a whole number from 0 to 100000 (thousandths of a percent)")
		return arm
	}
	arm.Weight = weight
	return arm
}

// misplaced reports the marks of a secret where they mark nothing. What they
// were to hide must not be served for a slip.
func (d *decoder) misplaced(n *jsontree.Node, pointer, instead string) {
	for _, name := range []string{"confidential", "decryptWith"} {
		if !n.Get(name).Absent() {
			d.issue(problem.MisplacedSecret, pointer+"/"+name, name+" "+instead)
		}
	}
}

// object reports whether n is an object, and records that it is not.
func (d *decoder) object(n *jsontree.Node, pointer, what string) bool {
	if n == nil {
		d.issue(problem.MissingField, pointer, what+" is missing: expected an object")
		return false
	}
	if n.Kind != jsontree.Object {
		d.issue(problem.InvalidField, pointer, what+" is an object, not "+n.Kind.String())
		return false
	}
	return true
}

func (d *decoder) text(parent *jsontree.Node, pointer, name string, required bool) string {
	n := parent.Get(name)
	if n.Absent() {
		if required {
			d.issue(problem.MissingField, pointer+"/"+name, name+" is missing: expected a string")
		}
		return ""
	}
	text, ok := n.Text()
	if !ok {
		d.issue(problem.InvalidField, pointer+"/"+name, name+" is a string, not "+n.Kind.String())
	}
	return text
}

// short is a text of at most MaxName characters, and "" for a longer one.
func short(text string) string {
	if len(text) > MaxName && utf8.RuneCountInString(text) > MaxName {
		return ""
	}
	return text
}

func (d *decoder) boolean(parent *jsontree.Node, pointer, name string) bool {
	n := parent.Get(name)
	if n.Absent() {
		return false
	}
	boolean, ok := n.Bool()
	if !ok {
		d.issue(problem.InvalidField, pointer+"/"+name, name+" is a boolean, not "+n.Kind.String())
	}
	return boolean
}

func (d *decoder) list(parent *jsontree.Node, pointer, name string, required bool) []*jsontree.Node {
	n := parent.Get(name)
	if n.Absent() {
		if required {
			d.issue(problem.MissingField, pointer+"/"+name, name+" is missing: expected an array")
		}
		return nil
	}
	if n.Kind != jsontree.Array {
		d.issue(problem.InvalidField, pointer+"/"+name, name+" is an array, not "+n.Kind.String())
	}
	return n.Items
}

func at(pointer string, i int) string { return pointer + "/" + strconv.Itoa(i) }
