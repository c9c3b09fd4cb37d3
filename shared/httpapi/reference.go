package httpapi

import (
	"context"
	"slices"
	"sync"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/negotiation"
)

const referenceTag = "reference"

// Reference is the description itself, for programs and for people. It needs
// no key and no control.Service.
func Reference() Group {
	var ready memo
	return Group{referenceTag, map[string]handler{
		"getOpenAPI": func(_ context.Context, c *call) (any, error) {
			return ready.page(c, "application/json", func(s *server) []byte { return s.stamped().Encode() }), nil
		},
		"getDocs": func(_ context.Context, c *call) (any, error) {
			c.header.Set("Content-Security-Policy", docsPolicy())
			return ready.page(c, "text/html; charset=utf-8", func(s *server) []byte { return renderDocs(s.stamped()) }), nil
		},
		endpoints.DocsFile.Operation: ready.file,
		"getStoredConfigSchema": func(_ context.Context, c *call) (any, error) {
			return ready.page(c, "application/schema+json", (*server).storedConfigSchema), nil
		},
	}}
}

// memo keeps what an operation answers, packed too: it is the same every time.
type memo struct {
	pages sync.Map // func() *page, by memoKey
}

// memoKey is an operation of a server, or a file.
type memoKey struct {
	server *server
	name   string
}

func (m *memo) page(c *call, contentType string, build func(*server) []byte) *page {
	return m.keep(memoKey{c.server, c.operation.Operation}, func() *page {
		return &page{contentType: contentType, Body: negotiation.NewBody(build(c.server))}
	})
}

func (m *memo) keep(key memoKey, build func() *page) *page {
	made, _ := m.pages.LoadOrStore(key, sync.OnceValue(build))
	return made.(func() *page)()
}

// stamped is the description with the addresses at which it is served, and the
// build that serves it. (info.version is the version of the API, which stays
// 1.0.0 within v1.)
func (s *server) stamped() *jsontree.Node {
	tree := s.description.tree.Clone()
	setServer(tree, s.address(s.options.BasePath, version))
	if s.options.Release != "" {
		tree.Get("info").Set("x-release", jsontree.NewString(s.options.Release))
	}
	here := tree.Get("x-directory")
	if tree.Delete("x-directory"); s.options.Directory {
		describeDirectory(tree, here)
	}
	for _, p := range tree.Get("paths").Members {
		if p.Value.Get("servers") != nil {
			setServer(p.Value, s.address(s.beside, ""))
		}
	}
	return tree
}

// describeDirectory has the description tell what is served of a config directory: nothing
// beside the API, and what only a directory has.
func describeDirectory(tree, here *jsontree.Node) {
	paths, tags := tree.Get("paths"), tree.Get("tags")
	paths.Members = slices.DeleteFunc(paths.Members, func(p jsontree.Member) bool { return p.Value.Get("servers") != nil })
	paths.Members = append(paths.Members, here.Get("paths").Members...)
	tags.Items = append(tags.Items, here.Get("tag"))
}

func setServer(node *jsontree.Node, url string) {
	node.Get("servers").Items[0].Set("url", jsontree.NewString(url))
}

// address is where a client finds what is served under a path: at the public
// address when there is one, else at the server that answered.
func (s *server) address(path, public string) string {
	if s.options.PublicURL != "" {
		return s.options.PublicURL + public
	}
	if path == "" {
		return "/"
	}
	return path
}

const storedConfigPath = "/schemas/v1/stored-config.json"

// storedConfigSchema is the schema under the name by which $schema finds it.
func (s *server) storedConfigSchema() []byte {
	text := document.SchemaJSON()
	tree, err := jsontree.Parse(text)
	if err != nil || s.options.PublicURL == "" {
		return text
	}
	tree.Set("$id", jsontree.NewString(s.options.PublicURL+storedConfigPath))
	return tree.Encode()
}
