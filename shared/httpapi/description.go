package httpapi

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"svc.example/svc/shared/jsontree"
)

//go:embed openapi.json
var openapi string

// described is the description, read by the first handler that is made.
var described = sync.OnceValues(func() (*description, error) { return readDescription([]byte(openapi)) })

// description is what the handlers take from openapi.json.
type description struct {
	tree  *jsontree.Node
	paths []*pathItem
}

// pathItem is one path and its operations by method.
type pathItem struct {
	path       string // a parameter stands as {name}
	beside     bool   // it stands beside the API, not under its base path
	operations map[string]*operation
}

// operation is one thing that the API does.
type operation struct {
	id      string
	group   string
	method  string
	keyless bool
	query   []parameter
	body    *body // nil for one that reads none
}

// writes says whether the operation can change something.
func (o *operation) writes() bool { return o.method != "GET" }

var methods = []string{"get", "put", "post", "delete", "patch"}

// readDescription reads a whole description, or says all that is wrong with
// it as far as the handlers need it.
func readDescription(text []byte) (*description, error) {
	tree, err := jsontree.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	d := &description{tree: tree}
	var problems []error
	seen := map[string]bool{}
	for _, p := range members(tree.Get("paths")) {
		item, err := d.pathItem(p.Name, p.Value)
		problems = append(problems, err)
		for _, o := range item.operations {
			if seen[o.id] {
				problems = append(problems, fmt.Errorf("%s: the operationId %q stands twice", p.Name, o.id))
			}
			seen[o.id] = true
		}
		d.paths = append(d.paths, item)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	return d, nil
}

func (d *description) pathItem(path string, node *jsontree.Node) (*pathItem, error) {
	item := &pathItem{
		path:       path,
		beside:     node.Get("servers") != nil,
		operations: map[string]*operation{},
	}
	var problems []error
	for _, method := range methods {
		node := node.Get(method)
		if node == nil {
			continue
		}
		o, err := d.operation(strings.ToUpper(method), node)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", method, path, err))
		}
		item.operations[o.method] = o
	}
	return item, errors.Join(problems...)
}

func (d *description) operation(method string, node *jsontree.Node) (*operation, error) {
	o := &operation{method: method}
	o.id, _ = node.Get("operationId").Text()
	if tags := node.Get("tags"); tags != nil && len(tags.Items) == 1 {
		o.group, _ = tags.Items[0].Text()
	}
	if security := node.Get("security"); security != nil {
		o.keyless = len(security.Items) == 0
	}
	var problems []error
	if o.id == "" || o.group == "" {
		problems = append(problems, errors.New("an operation has an operationId and exactly one tag"))
	}
	var err error
	o.query, err = d.parameters(node.Get("parameters"))
	problems = append(problems, err)
	if schema := node.At("/requestBody/content/application~1json/schema"); schema != nil {
		o.body, err = d.readBody(schema)
		problems = append(problems, err)
	}
	return o, errors.Join(problems...)
}

// resolve follows a $ref into the description.
func (d *description) resolve(node *jsontree.Node) *jsontree.Node {
	for range 8 { // more is a circle
		pointer, ok := node.Get("$ref").Text()
		if !ok {
			return node
		}
		node = d.tree.At(strings.TrimPrefix(pointer, "#"))
	}
	return nil
}

// items and members take what is not there for empty.

func items(list *jsontree.Node) []*jsontree.Node {
	if list == nil {
		return nil
	}
	return list.Items
}

func members(object *jsontree.Node) []jsontree.Member {
	if object == nil {
		return nil
	}
	return object.Members
}
