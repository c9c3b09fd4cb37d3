package importer

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

// Bounds on what Overlooked looks into.
const (
	maxOverlooked     = 20
	maxOverlookedFile = 4 << 20
)

// Overlooked is datadir.Overlooked, and says of what is left out which other system it is
// a file of, and what to type.
func Overlooked(dir string) []workspace.Problem {
	found, looked := datadir.Overlooked(dir), 0
	root, err := os.OpenRoot(dir)
	if err != nil {
		return found
	}
	defer root.Close()
	for i := range found {
		p := &found[i]
		if p.Code != problem.LeftOut || !IsExport(p.File) || looked == maxOverlooked {
			continue
		}
		looked++
		if title, name := recogniseFile(root, p.File); name != "" {
			p.Message += "; it is a file of " + title + ", of which svc import --from " + name + " makes documents"
		}
	}
	return found
}

// IsExport reports whether files of that name may be imported.
func IsExport(name string) bool { return IsYAML(name) || strings.EqualFold(path.Ext(name), ".json") }

// IsYAML reports whether a file of that name holds YAML.
func IsYAML(name string) bool {
	extension := path.Ext(name)
	return strings.EqualFold(extension, ".yaml") || strings.EqualFold(extension, ".yml")
}

func recogniseFile(root *os.Root, name string) (title, system string) {
	info, err := root.Stat(filepath.FromSlash(name)) // before it is opened: a pipe would wait
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxOverlookedFile {
		return "", ""
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxOverlookedFile))
	if err != nil {
		return "", ""
	}
	return Recognise(text, IsYAML(name))
}
