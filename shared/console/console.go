package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/router"
)

//go:embed shell.html app/icon.svg bundle/*.gz
var embedded embed.FS

// Routes serve the console at /console/, and lead there from /.
//
// The page asks a person for a key. That of a directory sends the token that its address
// brings behind #token=, and shows what a context gets of the environment that the server
// serves itself beside the API.
func Routes(directory bool, environment string) []router.Route {
	lead := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header())
		w.Header().Set("Location", "console/") // relative: a proxy may have put a path before it
		w.WriteHeader(http.StatusFound)
	})
	return []router.Route{
		{Path: endpoints.ConsoleLead.Path, Handler: lead},
		{Path: endpoints.Console.Path, Handler: lead},
		{Path: endpoints.ConsoleFiles.Path, Handler: &handler{shell: &file{Body: negotiation.NewBody(shell(directory, environment)), contentType: "text/html; charset=utf-8"}}},
	}
}

// file is one file of the console. It is kept as gzip, which is how nearly every
// browser takes it.
type file struct {
	*negotiation.Body
	contentType  string
	neverChanges bool
}

var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}

const icon = "icon.svg"

// program is all files of the program by name, and a digest that changes
// whenever one of them does. It is their folder's name, so that what is there
// can be kept for ever.
var program = sync.OnceValues(func() (files map[string]*file, digest string) {
	drawn, _ := embedded.ReadFile("app/" + icon) // a test reads them all
	files = map[string]*file{icon: {Body: negotiation.NewBody(drawn), contentType: "image/svg+xml"}}
	entries, _ := fs.ReadDir(embedded, "bundle")
	for _, e := range entries {
		packed, _ := embedded.ReadFile("bundle/" + e.Name())
		name := strings.TrimSuffix(e.Name(), ".gz")
		files[name] = &file{Body: negotiation.NewPackedBody(packed), contentType: contentTypes[path.Ext(name)]}
	}
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		files[name].neverChanges = true
		tag, _ := files[name].Identity()
		_, _ = io.WriteString(all, name+tag) // a hash takes everything
	}
	return files, hex.EncodeToString(all.Sum(nil)[:8])
})

// shell is the page, which names the files that it needs.
func shell(directory bool, environment string) []byte {
	_, digest := program()
	head := ""
	if directory {
		head = "<meta name=\"svc-environment\" content=\"" + html.EscapeString(environment) + "\">\n"
	}
	text, _ := embedded.ReadFile("shell.html") // a test reads it
	return []byte(strings.NewReplacer("{files}", digest, "{head}", head).Replace(string(text)))
}

type handler struct{ shell *file }

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harden(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console takes GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	_, name, _ := strings.Cut(r.URL.Path, "/console/")
	f := h.shell
	if name != "" {
		files, digest := program()
		folder, base, _ := strings.Cut(name, "/")
		if f = files[base]; f == nil || folder != digest {
			http.Error(w, "the console has no such file", http.StatusNotFound)
			return
		}
	}
	f.answer(w, r)
}

func (f *file) answer(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	var coding negotiation.Coding
	if _, size := f.Identity(); negotiation.Gzip(r, size) {
		coding = negotiation.GzipCoding
	}
	body, etag, _ := f.As(coding) // a test reads them all
	header.Set("ETag", etag)
	switch {
	case f.neverChanges:
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	default:
		header.Set("Cache-Control", "no-cache")
	}
	header.Set("Content-Type", f.contentType)
	if negotiation.NoneMatch(r, etag) != negotiation.Neither {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if coding != "" {
		header.Set("Content-Encoding", string(coding))
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// policy allows the page its own files and its own address, and no text to
// become HTML or script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func harden(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}
