package httpapi

import (
	"cmp"
	_ "embed"
	"net/http"
	"slices"
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

// described is the description, read by the first handler that is made. A test looks
// whether it is as the handlers need it.
var described = sync.OnceValue(func() *description {
	text, _ := negotiation.Decompress(openapi)
	tree, _ := jsontree.Parse(text)
	return readDescription(tree)
})

// Endpoints are those of the API, by their paths. Version 1 of it begins with /v1; what the
// OpenFeature CLI asks stands beside it.
func Endpoints() []endpoints.Endpoint { return described().endpoints() }

func (d *description) endpoints() (all []endpoints.Endpoint) {
	for _, o := range d.operations {
		all = append(all, o.Endpoint)
	}
	slices.SortFunc(all, func(a, b endpoints.Endpoint) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	return all
}

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

func readDescription(tree *jsontree.Node) *description {
	d := &description{tree: tree, changes: map[string]*body{},
		operations: map[string]*operation{endpoints.DocsFile.Operation: {Endpoint: endpoints.DocsFile}}} // which is not described
	for _, p := range members(tree.Get("paths")) {
		path := version + p.Name
		if p.Value.Get("servers") != nil { // beside the API
			path = p.Name
		}
		for _, method := range []string{"get", "put", "post", "delete", "patch"} {
			if node := p.Value.Get(method); node != nil {
				o := d.operation(node)
				o.Method, o.Path = strings.ToUpper(method), path
				d.operations[o.Operation] = o
			}
		}
	}
	for _, m := range members(tree.At("/components/schemas/Operation/discriminator/mapping")) {
		pointer, _ := m.Value.Text()
		d.changes[m.Name] = d.readBody(tree.At(strings.TrimPrefix(pointer, "#")))
	}
	return d
}

// operation reads all but the method and the path.
func (d *description) operation(node *jsontree.Node) *operation {
	o := &operation{Endpoint: endpoints.Endpoint{Keys: endpoints.Management}}
	o.Operation, _ = node.Get("operationId").Text()
	o.safe, _ = node.Get("x-safe").Bool()
	o.Group, _ = node.At("/tags/0").Text()
	if security := node.Get("security"); len(security.Elements()) > 0 {
		o.Keys = endpoints.Guard
	} else if security != nil {
		o.Keys, o.Limit = endpoints.NoKey, endpoints.Anonymous
	}
	for _, item := range node.Get("parameters").Elements() {
		p := d.resolve(item)
		if in, _ := p.Get("in").Text(); in == "query" { // a path's are the path's own segments
			o.query = append(o.query, readParameter(p))
		}
	}
	o.most = bodies.Max
	if most, err := strconv.ParseInt(node.Get("x-max-body").Literal(), 10, 64); err == nil {
		o.most = most
	}
	if schema := node.At("/requestBody/content/application~1json/schema"); schema != nil {
		o.body = d.readBody(schema)
	}
	return o
}

// resolve follows a $ref into the description.
func (d *description) resolve(node *jsontree.Node) *jsontree.Node {
	if pointer, ok := node.Get("$ref").Text(); ok {
		return d.tree.At(strings.TrimPrefix(pointer, "#"))
	}
	return node
}

// members takes what is not there for empty.
func members(object *jsontree.Node) []jsontree.Member {
	if object == nil {
		return nil
	}
	return object.Members
}
