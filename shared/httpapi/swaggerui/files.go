package swaggerui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"sync"
)

// Version is the version of the npm package swagger-ui-dist.
const Version = "5.35.0"

// Names of the files that a page loads.
const (
	Script = "swagger-ui-bundle.js"
	Style  = "swagger-ui.css"
)

//go:embed LICENSE NOTICE *.gz
var embedded embed.FS

// File is one file of the package.
type File struct {
	Name        string
	ContentType string
	Packed      bool // it is kept as gzip
}

const text = "text/plain; charset=utf-8"

// Files are the files of the package that are served. The script says where
// its licences are: beside it.
var Files = []File{
	{Script, "text/javascript; charset=utf-8", true},
	{Style, "text/css; charset=utf-8", true},
	{Script + ".LICENSE.txt", text, true},
	{"LICENSE", text, false},
	{"NOTICE", text, false},
}

// Find finds a file by its name.
func Find(name string) (File, bool) {
	for _, f := range Files {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}

// Stored is the file as it is kept: as gzip, or as the package has it.
func (f File) Stored() []byte {
	name := f.Name
	if f.Packed {
		name += ".gz"
	}
	content, _ := embedded.ReadFile(name) // a test reads them all
	return content
}

var digest struct {
	sync.Once
	text string
}

// Digest changes whenever a file does. It belongs into the files' address, so
// that what is served there can be kept for ever.
func Digest() string {
	digest.Do(func() { // not sync.OnceValue: it would link the files into every program
		h := sha256.New()
		for _, f := range Files {
			h.Write(f.Stored())
		}
		digest.text = hex.EncodeToString(h.Sum(nil)[:8])
	})
	return digest.text
}
