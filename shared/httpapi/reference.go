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

// Reference is the description itself, for programs and for people. It needs
// no key and no control.Service.
func Reference() Group {
	return Group{"reference", map[string]handler{
		"getOpenAPI": func(_ context.Context, c *call) (any, error) {
			return c.steady("application/json", func() []byte { return c.stamped().Encode() }), nil
		},
		"getDocs": func(_ context.Context, c *call) (any, error) {
			c.header.Set("Content-Security-Policy", docsPolicy())
			return c.steady("text/html; charset=utf-8", func() []byte { return renderDocs(c.stamped()) }), nil
		},
		endpoints.DocsFile.Operation: file,
		"getStoredConfigSchema": func(_ context.Context, c *call) (any, error) {
			return c.steady("application/schema+json", c.storedConfigSchema), nil
		},
	}}
}

// steady is what an operation answers that is the same every time.
func (c *call) steady(contentType string, build func() []byte) *page {
	return c.made(c.operation.Operation, func() *page { return &page{contentType: contentType, Body: negotiation.NewBody(build())} })
}

// made makes a page for the first who asks, and keeps it, packed too.
func (s *server) made(name string, build func() *page) *page {
	made, _ := s.pages.LoadOrStore(name, sync.OnceValue(build))
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
	if tree.Delete("x-directory"); s.options.Directory { // nothing beside the API, and what only a directory has
		paths, tags := tree.Get("paths"), tree.Get("tags")
		paths.Members = slices.DeleteFunc(paths.Members, func(p jsontree.Member) bool { return p.Value.Get("servers") != nil })
		paths.Members = append(paths.Members, here.Get("paths").Members...)
		tags.Items = append(tags.Items, here.Get("tag"))
	}
	for _, p := range tree.Get("paths").Members {
		if p.Value.Get("servers") != nil {
			setServer(p.Value, s.address(s.beside, ""))
		}
	}
	return tree
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

// storedConfigSchema is the schema under the name by which $schema finds it.
func (s *server) storedConfigSchema() []byte {
	text := document.SchemaJSON()
	tree, err := jsontree.Parse(text)
	if err != nil || s.options.PublicURL == "" {
		return text
	}
	tree.Set("$id", jsontree.NewString(s.options.PublicURL+"/schemas/v1/stored-config.json"))
	return tree.Encode()
}
