package httpapi_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/jsontree"
)

// surface is what the description promises to programs, one fact a line:
// everything but prose, examples and links. What a request must be begins with
// >, what an answer is with <.
func surface(tree *jsontree.Node) []string {
	s := &surfacer{tree: tree, facts: map[string]bool{}}
	for _, p := range tree.Get("paths").Members {
		for _, m := range p.Value.Members {
			if m.Value.Get("operationId") != nil {
				s.operation(strings.ToUpper(m.Name)+" "+p.Name, m.Value)
			}
		}
	}
	var lines []string
	for fact := range s.facts {
		lines = append(lines, fact)
	}
	slices.Sort(lines)
	return lines
}

type surfacer struct {
	tree  *jsontree.Node
	facts map[string]bool
}

func (s *surfacer) say(format string, args ...any) { s.facts[fmt.Sprintf(format, args...)] = true }

func (s *surfacer) follow(n *jsontree.Node) *jsontree.Node {
	if pointer, ok := n.Get("$ref").Text(); ok {
		return s.tree.At(strings.TrimPrefix(pointer, "#"))
	}
	return n
}

func (s *surfacer) operation(name string, o *jsontree.Node) {
	s.say("< %s: operation %s", name, textOf(o.Get("operationId")))
	if security := o.Get("security"); security != nil {
		s.say("< %s: security %s", name, security.Compact())
	}
	if parameters := o.Get("parameters"); parameters != nil {
		for _, item := range parameters.Items {
			p := s.follow(item)
			where := fmt.Sprintf("> %s ?%s", name, textOf(p.Get("name")))
			s.presence(where, p.Get("required"))
			s.schema(where, p.Get("schema"))
		}
	}
	if body := o.Get("requestBody"); body != nil {
		s.content("> "+name, body.Get("content"))
	}
	for _, r := range o.Get("responses").Members {
		s.response(fmt.Sprintf("< %s %s", name, r.Name), r.Value)
	}
}

func (s *surfacer) response(where string, r *jsontree.Node) {
	if pointer, ok := r.Get("$ref").Text(); ok {
		name := pointer[strings.LastIndex(pointer, "/")+1:]
		s.say("%s: is the answer %s", where, name)
		where = "< the answer " + name
	}
	s.say("%s: answer", where)
	r = s.follow(r)
	if headers := r.Get("headers"); headers != nil {
		for _, h := range headers.Members {
			s.say("%s: header %s", where, h.Name)
		}
	}
	s.content(where, r.Get("content"))
}

func (s *surfacer) content(where string, content *jsontree.Node) {
	if content == nil {
		return
	}
	for _, m := range content.Members {
		s.schema(where+" "+m.Name, m.Value.Get("schema"))
	}
}

func (s *surfacer) presence(where string, required *jsontree.Node) {
	if yes, _ := required.Bool(); yes {
		s.say("%s: required", where)
	} else {
		s.say("%s: optional", where)
	}
}

// prose is what a program does not depend on.
var prose = []string{"description", "examples", "x-error-message", "required", "title"}

// schema says what a schema demands. One with a name is said once for requests
// and once for answers, under its name.
func (s *surfacer) schema(where string, n *jsontree.Node) {
	if pointer, ok := n.Get("$ref").Text(); ok {
		name := pointer[strings.LastIndex(pointer, "/")+1:]
		s.say("%s: is %s", where, name)
		where = where[:2] + name
		if !s.facts[where+": schema"] {
			s.say("%s: schema", where)
			s.schema(where, s.follow(n))
		}
		return
	}
	for _, m := range n.Members {
		switch {
		case slices.Contains(prose, m.Name):
		case m.Name == "properties":
			for _, p := range m.Value.Members {
				s.presence(where+"."+p.Name, jsontree.NewBool(requires(n, p.Name)))
				s.schema(where+"."+p.Name, p.Value)
			}
		case m.Name == "items":
			s.schema(where+"[]", m.Value)
		case m.Name == "additionalProperties" && m.Value.Kind == jsontree.Object:
			s.schema(where+".*", m.Value)
		case m.Name == "enum":
			for _, value := range m.Value.Items {
				s.say("%s: enum %s", where, value.Compact())
			}
		case m.Name == "anyOf":
			for i, form := range m.Value.Items {
				s.schema(fmt.Sprintf("%s(%d)", where, i), form)
			}
		default:
			s.say("%s: %s %s", where, m.Name, m.Value.Compact())
		}
	}
}

func requires(schema *jsontree.Node, name string) bool {
	required := schema.Get("required")
	return required != nil && slices.ContainsFunc(required.Items, func(n *jsontree.Node) bool { return textOf(n) == name })
}

// narrowing are the words of a schema that only narrow what fits.
var narrowing = []string{"required", "pattern", "format", "minimum", "maximum", "minLength", "maxLength", "minItems", "multipleOf", "if", "then", "else", "additionalProperties"}

// breaking picks the facts for which a client of the old surface may fail
// against the new one. A request may ask for less and never for more; an
// answer may hold more and never less.
func breaking(before, after []string) []string {
	old, now := setOf(before), setOf(after)
	var broken []string
	for _, fact := range before {
		if !now[fact] && !(strings.HasPrefix(fact, "> ") && slices.Contains(narrowing, word(fact))) {
			broken = append(broken, "gone: "+fact)
		}
	}
	for _, fact := range after {
		if old[fact] {
			continue
		}
		asks := strings.HasPrefix(fact, "> ") && slices.Contains(narrowing, word(fact)) && (known(before, fact) || word(fact) == "required" && knownOwner(before, fact)) && !widens(before, fact)
		opens := strings.HasPrefix(fact, "< ") && word(fact) == "enum" && known(before, fact)
		if asks || opens {
			broken = append(broken, "new: "+fact)
		}
	}
	return broken
}

func setOf(facts []string) map[string]bool {
	set := map[string]bool{}
	for _, fact := range facts {
		set[fact] = true
	}
	return set
}

// word is what a fact is about: what stands behind the place.
func word(fact string) string {
	_, rest, _ := strings.Cut(fact, ": ")
	rest, _, _ = strings.Cut(rest, " ")
	return rest
}

// known reports whether the place that a fact is about was there before.
func known(before []string, fact string) bool {
	place, _, _ := strings.Cut(fact, ": ")
	return slices.ContainsFunc(before, func(old string) bool { return strings.HasPrefix(old, place+": ") })
}

// knownOwner reports whether what has the field that a fact is about was there before:
// whatever a new schema requires, nobody has sent it yet.
func knownOwner(before []string, fact string) bool {
	place, _, _ := strings.Cut(fact, ": ")
	owner := place[:strings.LastIndexAny(place, ". ")+1]
	return slices.ContainsFunc(before, func(old string) bool { return strings.HasPrefix(old, owner) })
}

// widens reports whether a bound has moved outwards.
func widens(before []string, fact string) bool {
	start, bound, _ := strings.Cut(fact, word(fact)+" ")
	outwards, isBound := map[string]int{"minimum": -1, "minLength": -1, "minItems": -1, "maximum": 1, "maxLength": 1}[word(fact)]
	i := slices.IndexFunc(before, func(old string) bool { return strings.HasPrefix(old, start+word(fact)+" ") })
	if !isBound || i < 0 {
		return false
	}
	old, errOld := strconv.ParseFloat(strings.TrimPrefix(before[i], start+word(fact)+" "), 64)
	new, errNew := strconv.ParseFloat(bound, 64)
	return errOld == nil && errNew == nil && cmp.Compare(new, old) == outwards
}
