package httpapi

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"strings"
	"sync"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/httpapi/swaggerui"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/negotiation"
)

//go:embed docs.js
var docsScript string

//go:embed docs.css
var docsStyle string

// docsIcon is a switch that is on.
const docsIcon = `data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect y='6' width='32' height='20' rx='10' fill='%2316a34a'/%3E%3Ccircle cx='22' cy='16' r='7' fill='%23fff'/%3E%3C/svg%3E`

// renderDocs writes the reference page, which Swagger UI draws. All addresses in it are
// relative, so that it works wherever it is mounted.
func renderDocs(tree *jsontree.Node) []byte {
	title, _ := tree.At("/info/title").Text()
	files := "docs/" + swaggerui.Digest() + "/"
	return []byte(strings.Join([]string{
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
		"<meta name=\"color-scheme\" content=\"light dark\">\n",
		"<title>", html.EscapeString(title), "</title>\n",
		"<link rel=\"icon\" href=\"", docsIcon, "\">\n",
		"<link rel=\"stylesheet\" href=\"", files, swaggerui.Style, "\">\n",
		"<style>", docsStyle, "</style>\n",
		"<script defer src=\"", files, swaggerui.Script, "\"></script>\n",
		"<script>", docsScript, "</script>\n",
		"</head><body>\n<noscript><p>The reference is drawn by a script, which has not come or is not allowed to run. It shows what stands in <a href=\"openapi.json\">openapi.json</a>.</p></noscript>\n",
		"<div id=\"reference\"></div>\n</body></html>\n",
	}, ""))
}

// docsPolicy allows the page what it has and nothing else. Its own script and
// styles are allowed by what they are.
var docsPolicy = sync.OnceValue(func() string {
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self' " + sourceHash(docsScript),
		"style-src 'self' " + sourceHash(docsStyle),
		"img-src data:",
		"connect-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; ")
})

func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// file answers with a file of the page.
func file(_ context.Context, c *call) (any, error) {
	f, known := swaggerui.Find(c.request.PathValue("file"))
	if !known || c.request.PathValue("digest") != swaggerui.Digest() {
		return nil, fault.New(fault.NotFound, "there is no such file of the reference; %s/docs names those that it needs", c.options.BasePath)
	}
	return c.made(f.Name, func() *page {
		p := &page{contentType: f.ContentType, immutable: true}
		if f.Packed {
			p.Body = negotiation.NewPackedBody(f.Stored())
		} else {
			p.Body = negotiation.NewBody(f.Stored())
		}
		return p
	}), nil
}
