package httpapi

import (
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/negotiation"
)

// openapi is openapi.json compressed, a tenth of it, as a test records it.
//
//go:embed openapi.json.gz
var openapi []byte

// described is the description, read by the first handler that is made.
var described = sync.OnceValues(func() (*description, error) {
	text, err := negotiation.Decompress(openapi)
	if err != nil {
		return nil, fmt.Errorf("openapi.json.gz: %w", err)
	}
	return readDescription(text)
})

// description is what the handlers take from openapi.json.
type description struct {
	tree       *jsontree.Node
	operations map[string]*operation // by operationId
	changes    map[string]*body      // what the operations of a change set may hold, by op
}

// operation is one thing that the API does.
type operation struct {
	endpoints.Endpoint
	query []parameter
	body  *body // nil for one that reads none
	safe  bool  // it changes nothing, whatever its method
	most  int64 // bytes of a body
}

// writes reports whether the operation can change something.
func (o *operation) writes() bool { return o.Method != http.MethodGet && !o.safe }

var methods = []string{"get", "put", "post", "delete", "patch"}

// readDescription reads a whole description, or says all that is wrong with
// it as far as the handlers need it.
func readDescription(text []byte) (*description, error) {
	tree, err := jsontree.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	d := &description{tree: tree, operations: map[string]*operation{}, changes: map[string]*body{}}
	var problems []error
	for _, p := range members(tree.Get("paths")) {
		path := version + p.Name
		if p.Value.Get("servers") != nil { // beside the API
			path = p.Name
		}
		for _, method := range methods {
			node := p.Value.Get(method)
			if node == nil {
				continue
			}
			o, err := d.operation(node)
			if o.Method, o.Path = strings.ToUpper(method), path; err != nil {
				problems = append(problems, fmt.Errorf("%s %s: %w", method, p.Name, err))
			}
			if d.operations[o.Operation] != nil {
				problems = append(problems, fmt.Errorf("%s: the operationId %q stands twice", p.Name, o.Operation))
			}
			d.operations[o.Operation] = o
		}
	}
	for _, m := range members(tree.At("/components/schemas/Operation/discriminator/mapping")) {
		pointer, _ := m.Value.Text()
		b, err := d.readBody(tree.At(strings.TrimPrefix(pointer, "#")))
		d.changes[m.Name] = b
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	return d, nil
}

// operation reads all but the method and the path.
func (d *description) operation(node *jsontree.Node) (*operation, error) {
	o := &operation{Endpoint: endpoints.Endpoint{Keys: endpoints.Management}}
	o.Operation, _ = node.Get("operationId").Text()
	o.safe, _ = node.Get("x-safe").Bool()
	if tags := node.Get("tags"); tags != nil && len(tags.Items) == 1 {
		o.Group, _ = tags.Items[0].Text()
	}
	if security := node.Get("security"); security != nil && len(security.Items) == 0 {
		o.Keys = endpoints.NoKey
	}
	var problems []error
	if o.Operation == "" || o.Group == "" {
		problems = append(problems, errors.New("an operation has an operationId and exactly one tag"))
	}
	var err error
	o.query, err = d.parameters(node.Get("parameters"))
	problems = append(problems, err)
	o.most = bodies.Max
	if most, err := strconv.ParseInt(node.Get("x-max-body").Literal(), 10, 64); err == nil {
		o.most = most
	}
	if schema := node.At("/requestBody/content/application~1json/schema"); schema != nil {
		o.body, err = d.readBody(schema)
		problems = append(problems, err)
	}
	return o, errors.Join(problems...)
}

// find is the description of an endpoint. It fails when the two differ.
func (d *description) find(e endpoints.Endpoint) (*operation, error) {
	if e == endpoints.DocsFile {
		return &operation{Endpoint: e}, nil
	}
	o := d.operations[e.Operation]
	if o == nil {
		return nil, fmt.Errorf("%s: the table of endpoints has it and openapi.json does not", e.Operation)
	}
	if o.Method != e.Method || o.Path != e.Path || o.Group != e.Group || o.Keys != e.Keys {
		return nil, fmt.Errorf("%s: the table of endpoints and openapi.json differ in its method, path, tag or keys", e.Operation)
	}
	return o, nil
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
