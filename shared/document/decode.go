package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
)

// Decode reads the view of a stored document. The issues are what it could
// not make sense of; with any, the view holds the rest.
func Decode(tree *jsontree.Node) (*Document, []Issue) { return decode(tree, false) }

func decode(tree *jsontree.Node, strict bool) (*Document, []Issue) {
	d := decoder{strict: strict}
	doc := d.document(tree)
	if d.failed {
		d = decoder{strict: strict, pointers: true}
		doc = d.document(tree)
	}
	return doc, d.issues
}

// decoder collects issues while it walks, so that a document's author sees
// all of them at once.
type decoder struct {
	// strict holds the document to what new content must be, where old files are
	// read as they are.
	strict   bool
	expected ValueType // of every value; "" when the document does not say one that is known
	// confidential: some value by now is.
	confidential bool
	// failed reports whether there are issues, and pointers whether they are written
	// down: most documents have none, and keeping each place takes as long as all else.
	failed, pointers bool
	issues           []Issue
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
	return pointer + list + "/" + strconv.Itoa(i)
}

func (d *decoder) issue(code problem.Code, pointer, message string) {
	d.failed = true
	if !d.pointers {
		return
	}
	d.issues = append(d.issues, Issue{Code: code, Pointer: pointer, Message: message})
}

func (d *decoder) missing(pointer, name, hint string) {
	if d.failed = true; !d.pointers {
		return
	}
	d.issue(problem.MissingField, pointer+"/"+name, name+" is missing: "+strings.TrimPrefix(hint, name+" is "))
}

// kind reports what is of another kind than it should be.
func (d *decoder) kind(pointer, what string, kind jsontree.Kind, n *jsontree.Node) {
	if d.failed = true; !d.pointers {
		return
	}
	d.issue(problem.InvalidField, pointer, what+" is "+kind.String()+", not "+n.Kind.String())
}

// check reports what is wrong with new content alone.
func (d *decoder) check(fits bool, pointer, name, hint string) {
	if d.strict && !fits {
		d.issue(problem.InvalidField, pointer+"/"+name, hint)
	}
}

const required, optional = true, false

func (d *decoder) document(tree *jsontree.Node) *Document {
	doc := &Document{}
	if tree.Kind != jsontree.Object {
		d.issue(problem.InvalidField, "", "a document is a JSON object, not "+tree.Kind.String())
		return doc
	}
	if address := tree.Get("$schema"); address != nil {
		d.check(address.Kind == jsontree.String, "", "$schema", "$schema is the address of this schema")
	}
	doc.ID = short(d.text(tree, "", "id", optional, "id is a string of at most 200 characters", isShort))
	doc.Key = d.text(tree, "", "key", required, "a key is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot", isKey)
	doc.Type = Type(d.text(tree, "", "type", required, "type is one of feature_flag, config, log_level and segment", isType))
	doc.ValueType = ValueType(d.text(tree, "", "valueType", required, "valueType is one of bool, string, int, double, json, string_list, duration, log_level and schema", isValueType))
	doc.Name = d.text(tree, "", "name", optional, "name is a string", nil)
	doc.Description = d.text(tree, "", "description", optional, "description is a string", nil)
	doc.Owner, _ = tree.Get("owner").Text() // another one is the author's own, as every field that nothing reads
	doc.Access = d.text(tree, "", "access", optional, "access is one of support, standard, protected-env and protected-all-envs", isTier)
	doc.SchemaKey = d.text(tree, "", "schemaKey", optional, "schemaKey is the key of a JSON Schema of the workspace", notEmpty)
	doc.ReadyForCleanup = d.boolean(tree, "", "readyForCleanup")
	doc.SendToClientSDK = d.boolean(tree, "", "sendToClientSdk")
	d.tags(tree, doc)
	switch {
	case doc.Type == LogLevel:
		d.expected = LogLevelValue
	case doc.Type == Segment:
		d.expected = BoolValue
	case isValueType(string(doc.ValueType)):
		d.expected = doc.ValueType
	}
	d.scopes(tree, doc)
	for i, variant := range d.list(tree, "", "variants", optional, `variants is an array of {"name", "description", "value"}`) {
		doc.Variants = append(doc.Variants, d.variant(variant, d.in("", "/variants", i)))
	}
	d.ofType(tree, doc)
	doc.Confidential = d.confidential
	return doc
}

// ofType checks what goes with the type of a document.
func (d *decoder) ofType(tree *jsontree.Node, doc *Document) {
	switch doc.Type {
	case Flag:
		marker := tree.Get("sendToClientSdk")
		d.check(marker == nil || !marker.Absent() && marker.Kind != jsontree.Bool, "", "sendToClientSdk", "sendToClientSdk belongs to configs; a flag is always served, so leave it out")
	case LogLevel:
		_, isText := tree.Get("key").Text()
		d.check(!isText || len(doc.Key) > len(LogLevelPrefix) && strings.HasPrefix(doc.Key, LogLevelPrefix), "", "key", "the key of a log level is log-level. followed by the name of a service")
		_, isText = tree.Get("valueType").Text()
		d.check(!isText || doc.ValueType == LogLevelValue, "", "valueType", "the valueType of a log level is log_level")
	case Segment:
		_, isText := tree.Get("valueType").Text()
		d.check(!isText || doc.ValueType == BoolValue, "", "valueType", "the valueType of a segment is bool")
		d.check(len(doc.Environments) == 0, "", "environments", "a segment is the same in every environment: keep its rules in default and leave environments out")
		d.check(len(doc.Variants) == 0, "", "variants", "a segment has no variants; leave them out")
	}
}

func (d *decoder) tags(tree *jsontree.Node, doc *Document) {
	for i, tag := range d.list(tree, "", "tags", optional, "tags is an array of strings") {
		text, ok := tag.Text()
		if !ok {
			d.issue(problem.InvalidField, at("/tags", i), "a tag is a string, not "+tag.Kind.String())
			continue
		}
		doc.Tags = append(doc.Tags, text)
		if d.strict && (strings.TrimSpace(text) == "" || strings.ContainsFunc(text, unicode.IsControl)) {
			d.issue(problem.InvalidField, at("/tags", i), "a tag is a word or more, without line breaks and other control characters")
		}
	}
}

func (d *decoder) scopes(tree *jsontree.Node, doc *Document) {
	def := tree.Get("default")
	if d.object(def, "/default", "the default scope", `default is missing: an object {"rules": [...]} with the default rules`) {
		doc.Default = d.rules(def, "/default")
	}
	for i, entry := range d.list(tree, "", "environments", optional, `environments is an array of {"id", "rules"}`) {
		pointer := d.in("", "/environments", i)
		var e Environment // kept even when it is nothing: indexes are those of the tree
		if d.object(entry, pointer, "an entry of environments", "") {
			e = Environment{ID: d.text(entry, pointer, "id", required, "id is the name of an environment", notEmpty), Rules: d.rules(entry, pointer)}
		}
		doc.Environments = append(doc.Environments, e)
	}
}

func (d *decoder) rules(scope *jsontree.Node, pointer string) []Rule {
	list := d.list(scope, pointer, "rules", required, `rules is an array of {"criteria", "value"}`)
	rules := make([]Rule, 0, len(list))
	for i, entry := range list {
		at := d.in(pointer, "/rules", i)
		rules = append(rules, d.rule(entry, at))
		d.marks(entry, &rules[i], at, i)
	}
	return rules
}

const inheritedHint = "inherited is rules, entry or environments: what goes again once the environment is resumed"

// marks reads what a rule was made for, beside its criteria.
func (d *decoder) marks(n *jsontree.Node, rule *Rule, pointer string, place int) {
	if rule.Paused = d.boolean(n, pointer, "paused"); rule.Paused {
		rule.Paused = isPause(n)
		d.check(rule.Paused && place == 0, pointer, "paused", "a rule that is paused stands first in its list, and its only criterion is ALWAYS_TRUE")
	}
	if n.Get("inherited") != nil {
		d.text(n, pointer, "inherited", optional, inheritedHint, func(text string) bool {
			return slices.Contains([]string{AddedRules, AddedEntry, AddedEnvironments}, text)
		})
	}
	const hint = "scheduled is change, rollout or hold, of a rule whose only criterion is PROP_AFTER on svc.current-time with a time as RFC 3339 has it"
	if n.Get("scheduled") != nil && d.text(n, pointer, "scheduled", optional, hint, isScheduled) != "" {
		made := StoredSchedule(n)
		rule.Schedule, rule.From = made.Kind, made.At
		d.check(rule.Schedule != "", pointer, "scheduled", hint)
	}
}

func (d *decoder) rule(n *jsontree.Node, pointer string) Rule {
	const hint = `a rule needs at least one criterion; for every context write [{"operator": "ALWAYS_TRUE"}]`
	var rule Rule
	if !d.object(n, pointer, "a rule", "") {
		return rule
	}
	criteria := d.list(n, pointer, "criteria", required, hint)
	d.check(criteria == nil || len(criteria) > 0, pointer, "criteria", hint)
	for i, entry := range criteria {
		rule.Criteria = append(rule.Criteria, d.criterion(entry, d.in(pointer, "/criteria", i)))
	}
	value := n.Get("value")
	if at := d.below(pointer, "/value"); d.object(value, at, "a value", `value is missing: a rule serves a value, such as {"type": "bool", "value": true}`) {
		rule.Value = d.ruleValue(value, at)
	}
	return rule
}

func (d *decoder) criterion(n *jsontree.Node, pointer string) Criterion {
	var c Criterion
	if !d.object(n, pointer, "a criterion", "") {
		return c
	}
	c.Operator = d.text(n, pointer, "operator", required, "operator names a test, such as ALWAYS_TRUE or PROP_IS_ONE_OF", notEmpty)
	c.PropertyName = d.text(n, pointer, "propertyName", optional, "propertyName is a string such as user.plan", nil)
	match := d.member(n, pointer, "valueToMatch", jsontree.Object, optional, `valueToMatch is a value, such as {"type": "string_list", "value": ["pro"]}`)
	if match != nil {
		at := d.below(pointer, "/valueToMatch")
		v := d.valueHead(match, at, "the type of a value to match is a string such as string_list; weighted_values may stand only as the value of a rule",
			func(name string) bool { return name != "" && name != string(WeightedValue) })
		if d.strict { // what an operator makes of the content of an old one is the operator's business
			d.content(v, at)
		}
		c.ValueToMatch = &v
	}
	return c
}

func (d *decoder) variant(n *jsontree.Node, pointer string) Variant {
	var v Variant
	if !d.object(n, pointer, "a variant", "") {
		return v
	}
	v.Name = short(d.text(n, pointer, "name", optional, "the name of a variant is a string of at most 200 characters", isShort))
	v.Description = d.text(n, pointer, "description", optional, "description is a string", nil)
	v.Value = d.plainValue(n.Get("value"), d.below(pointer, "/value"), `value is missing: a variant has a value, such as {"type": "bool", "value": true}`)
	return v
}

func (d *decoder) ruleValue(n *jsontree.Node, pointer string) Value {
	const hint = "the type of a rule's value is the document's valueType, provided or weighted_values"
	v := d.valueHead(n, pointer, hint, nil)
	if v.Type != WeightedValue {
		d.typed(n, v, pointer, hint)
		d.content(v, pointer)
		return v
	}
	v.Weighted = &Weighted{}
	if at := d.below(pointer, "/value"); d.object(v.Content, at, "the value of weighted_values", `value is missing: the value of weighted_values is {"weightedValues": [...], "hashByPropertyName"}`) {
		v.Weighted = d.weighted(v.Content, at)
	}
	for i := range v.Weighted.Arms {
		arm := &v.Weighted.Arms[i].Value
		arm.Confidential = arm.Confidential || v.Confidential
		if arm.DecryptWith == "" {
			arm.DecryptWith = v.DecryptWith
		}
	}
	return v
}

// plainValue reads a value that cannot be a split.
func (d *decoder) plainValue(n *jsontree.Node, pointer, missing string) Value {
	const hint = "the type of a value is the document's valueType or provided"
	if !d.object(n, pointer, "a value", missing) {
		return Value{}
	}
	v := d.valueHead(n, pointer, hint, nil)
	if v.Type == WeightedValue {
		d.issue(problem.InvalidField, pointer+"/type", "weighted_values may stand only as the value of a rule")
		return v
	}
	d.typed(n, v, pointer, hint)
	d.content(v, pointer)
	return v
}

// typed holds the type of a new value to the document's.
func (d *decoder) typed(n *jsontree.Node, v Value, pointer, hint string) {
	if _, isText := n.Get("type").Text(); !d.strict || !isText || v.Type == ProvidedValue {
		return
	}
	if d.expected != "" && v.Type != "" && v.Type != d.expected {
		d.issue(problem.ValueType, pointer+"/type",
			fmt.Sprintf("the type of this value is %s, but the valueType of the document is %s", brief(string(v.Type)), d.expected))
		return
	}
	d.check(isValueType(string(v.Type)), pointer, "type", hint)
}

// content reports a list's wrong elements each at its own place, and anything
// else at the content's.
func (d *decoder) content(v Value, pointer string) {
	if v.Content == nil {
		if hint := v.contentHint(); hint != "" {
			d.missing(pointer, "value", hint)
		}
		return
	}
	message := v.ContentProblem()
	if message == "" && d.strict {
		message = v.NewContentProblem()
	}
	pointer = d.below(pointer, "/value")
	switch {
	case message != "" && v.Type == StringListValue && v.DecryptWith == "" && v.Content.Kind == jsontree.Array:
		for i, item := range v.Content.Items {
			if item.Kind != jsontree.String {
				d.issue(problem.InvalidValue, at(pointer, i), "a string_list holds strings only, not "+item.Kind.String())
			}
		}
	case message != "":
		d.issue(problem.InvalidValue, pointer, message)
	case d.strict && v.Type == ProvidedValue && v.DecryptWith == "" && !Masked(v.Content):
		d.text(v.Content, pointer, "source", required, "source is the kind of place to look in, such as ENV_VAR", notEmpty)
		d.text(v.Content, pointer, "lookup", required, "lookup is the name to look up, such as the name of an environment variable", notEmpty)
	}
}

func (d *decoder) valueHead(n *jsontree.Node, pointer, hint string, fits func(string) bool) Value {
	v := Value{Type: ValueType(d.text(n, pointer, "type", required, hint, fits)), Content: n.Get("value")}
	// A mark that says nothing was meant to say something: what it was to hide is
	// not served because of a typing mistake.
	if marker := n.Get("confidential"); marker != nil && marker.Absent() {
		d.issue(problem.InvalidField, pointer+"/confidential", "confidential is true or false, not null")
	} else {
		v.Confidential = d.boolean(n, pointer, "confidential")
		d.confidential = d.confidential || v.Confidential
	}
	if marker := n.Get("decryptWith"); marker != nil && (marker.Absent() || marker.Kind == jsontree.String && text(marker) == "") {
		d.issue(problem.InvalidField, pointer+"/decryptWith", "decryptWith is the key of a config; leave it out when the value is not encrypted")
	} else {
		v.DecryptWith = d.text(n, pointer, "decryptWith", optional, "", nil)
	}
	return v
}

func (d *decoder) weighted(n *jsontree.Node, pointer string) *Weighted {
	w := &Weighted{HashByProperty: d.text(n, pointer, "hashByPropertyName", optional, "hashByPropertyName is a string such as user.key", nil)}
	d.boolean(n, pointer, "splitEvenly")
	d.misplaced(n, pointer, `protects nothing beside weightedValues; write it beside "type": "weighted_values", or into each arm's value`)
	arms := d.list(n, pointer, "weightedValues", required, `a split needs at least one arm, as {"value", "weight"}`)
	if arms != nil && len(arms) == 0 {
		d.issue(problem.InvalidField, pointer+"/weightedValues", "a split needs at least one arm")
	}
	for i, entry := range arms {
		w.Arms = append(w.Arms, d.arm(entry, d.in(pointer, "/weightedValues", i)))
	}
	if d.strict && len(arms) > 0 && !slices.ContainsFunc(w.Arms, func(arm Arm) bool { return arm.Weight > 0 }) {
		d.issue(problem.InvalidValue, pointer+"/weightedValues", "no arm of this split has a weight, so the rule serves nothing; give one of them a weight")
	}
	return w
}

func (d *decoder) arm(n *jsontree.Node, pointer string) Arm {
	const hint = "a weight is a whole number from 0 to 100000 (thousandths of a percent)"
	var arm Arm
	if !d.object(n, pointer, "an arm of weightedValues", "") {
		return arm
	}
	arm.Value = d.plainValue(n.Get("value"), d.below(pointer, "/value"), `value is missing: an arm has a value, such as {"type": "bool", "value": true}`)
	d.misplaced(n, pointer, "protects nothing beside weight; write it into the arm's value, beside its type")
	if n.Get("weight") == nil {
		d.missing(pointer, "weight", hint)
		return arm
	}
	weight, err := strconv.ParseInt(jsontree.NumberText(n.Get("weight").Literal()), 10, 64)
	if err != nil || weight < 0 || weight > FullWeight {
		d.issue(problem.InvalidValue, pointer+"/weight", hint)
		return arm
	}
	arm.Weight = weight
	return arm
}

// misplaced reports the marks of a secret where they mark nothing. What they
// were to hide must not be served because of a typing mistake.
func (d *decoder) misplaced(n *jsontree.Node, pointer, instead string) {
	for _, name := range []string{"confidential", "decryptWith"} {
		if !n.Get(name).Absent() {
			d.issue(problem.MisplacedSecret, pointer+"/"+name, name+" "+instead)
		}
	}
}

// object reports whether n is an object, and records that it is not, or missing.
func (d *decoder) object(n *jsontree.Node, pointer, what, missing string) bool {
	if n == nil {
		d.issue(problem.MissingField, pointer, missing)
		return false
	}
	if n.Kind != jsontree.Object {
		d.kind(pointer, what, jsontree.Object, n)
		return false
	}
	return true
}

// member is a member of an object, and nil when it is left out or not of the kind. The
// hint is what would be right. An old file may have null for what is left out.
func (d *decoder) member(parent *jsontree.Node, pointer, name string, kind jsontree.Kind, needed bool, hint string) *jsontree.Node {
	n := parent.Get(name)
	switch {
	case n.Absent() && needed:
		d.missing(pointer, name, hint)
	case n == nil:
	case n.Kind == jsontree.Null:
		d.check(false, pointer, name, hint)
	case n.Kind != kind:
		d.kind(d.below(pointer, "/"+name), name, kind, n)
	default:
		return n
	}
	return nil
}

// text is a member's text. A new one must fit, where that is asked for.
func (d *decoder) text(parent *jsontree.Node, pointer, name string, needed bool, hint string, fits func(string) bool) string {
	text, ok := d.member(parent, pointer, name, jsontree.String, needed, hint).Text()
	if ok && fits != nil && d.strict {
		d.check(fits(text), pointer, name, hint)
	}
	return text
}

func (d *decoder) boolean(parent *jsontree.Node, pointer, name string) bool {
	if parent.Get(name) == nil { // of most: then no hint is made
		return false
	}
	boolean, _ := d.member(parent, pointer, name, jsontree.Bool, optional, name+" is true or false").Bool()
	return boolean
}

// list is the elements of a member: nil when it is left out or no array.
func (d *decoder) list(parent *jsontree.Node, pointer, name string, needed bool, hint string) []*jsontree.Node {
	n := d.member(parent, pointer, name, jsontree.Array, needed, hint)
	if n != nil && n.Items == nil {
		return []*jsontree.Node{}
	}
	return n.Elements()
}

func at(pointer string, i int) string { return pointer + "/" + strconv.Itoa(i) }

// short is a text of at most MaxName characters, and "" for a longer one.
func short(text string) string {
	if !isShort(text) {
		return ""
	}
	return text
}

func isShort(text string) bool {
	return len(text) <= MaxName || utf8.RuneCountInString(text) <= MaxName
}

func notEmpty(text string) bool { return text != "" }

func isTier(text string) bool {
	return slices.Contains([]string{"support", "standard", "protected-env", "protected-all-envs"}, text)
}

func isType(text string) bool {
	return slices.Contains([]Type{Flag, Config, LogLevel, Segment}, Type(text))
}

func isValueType(text string) bool {
	return slices.Contains([]ValueType{BoolValue, StringValue, IntValue, DoubleValue, JSONValue, StringListValue, DurationValue, LogLevelValue, SchemaValue}, ValueType(text))
}

// text is a string's text, and "" for anything else.
func text(n *jsontree.Node) string {
	s, _ := n.Text()
	return s
}
