package workspace

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/problem"
)

// File is the workspace file, at the root of the layout.
const File = "svc.json"

// OldJournal is a file that an older svc obeys where it finds it: it says which files to
// move. No svc writes or obeys one now, and none is handed on.
const OldJournal = ".svc-write.json"

// Obeyed says why a name must not stand in a config directory, since a program takes it
// for instructions: "" for others. Not every disk tells capital letters from small ones.
func Obeyed(name string, folder bool) (code problem.Code, why string) {
	switch lower := strings.ToLower(name); {
	case lower == OldJournal:
		return problem.JournalFile, "versions before the first release take this for a change that was cut short, and move files as it says: take it out, after you have looked at who put it in"
	case folder && (lower == "objects" || lower == "refs"), !folder && (lower == "head" || lower == "config"):
		return problem.RepositoryFile, "git takes HEAD, config, objects and refs in a directory for a repository, whose settings say what it runs: take this out, after you have looked at who put it in"
	}
	return "", ""
}

// Folder is one of the layout's folders.
type Folder string

// The folders of the layout.
const (
	Flags     Folder = "feature-flags"
	Configs   Folder = "configs"
	LogLevels Folder = "log-levels"
	Segments  Folder = "segments"
	Schemas   Folder = "schemas"
)

// Folders lists the layout's folders.
var Folders = []Folder{Flags, Configs, LogLevels, Segments, Schemas}

var folderTypes = map[Folder]document.Type{
	Flags:     document.Flag,
	Configs:   document.Config,
	LogLevels: document.LogLevel,
	Segments:  document.Segment,
}

// Type returns the type of the documents in a folder, and false for schemas
// and for what is no folder of the layout.
func (f Folder) Type() (document.Type, bool) {
	t, ok := folderTypes[f]
	return t, ok
}

// FolderOf returns the folder that holds a type of document.
func FolderOf(t document.Type) Folder {
	for folder, held := range folderTypes {
		if held == t {
			return folder
		}
	}
	return ""
}

// SchemaType is the type of JSON Schemas. They are no documents, and items of a
// workspace all the same.
const SchemaType document.Type = "schema"

// ItemFolder is FolderOf for schemas too.
func ItemFolder(t document.Type) Folder {
	if t == SchemaType {
		return Schemas
	}
	return FolderOf(t)
}

// ItemType is the type of what stands in a folder of the layout.
func (f Folder) ItemType() document.Type {
	if t, isDocument := f.Type(); isDocument {
		return t
	}
	return SchemaType
}

// Path returns where an item is stored, with forward slashes.
func Path(t document.Type, key string) string {
	return string(ItemFolder(t)) + "/" + key + extension
}

// PathOf is where a document of that key stands, if any can.
func PathOf(t document.Type, key string) (string, bool) {
	path := Path(t, key)
	folder, name, ok := SplitPath(path)
	return path, ok && name == key && folder == ItemFolder(t)
}

const extension = ".json"

// SplitPath takes a path apart into folder and key, and reports whether it is
// the path of a document or a schema at all.
func SplitPath(path string) (Folder, string, bool) {
	folder, name, found := strings.Cut(path, "/")
	if !found || !KnownFolder(folder) || !KnownName(name) {
		return "", "", false
	}
	return Folder(folder), strings.TrimSuffix(name, extension), true
}

// KnownFolder reports whether a name is a folder of the layout.
func KnownFolder(name string) bool {
	return slices.Contains(Folders, Folder(name))
}

// Overlooked says why a file or folder in a folder of the layout, whose name is
// none of a document, may have been meant to be one; "" for what surely was not.
func Overlooked(name string, isFolder bool) string {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(name, "."):
		return ""
	case isFolder:
		return "this folder is left out: documents stand in the folder above it"
	case strings.HasPrefix(lower, "readme"):
		return ""
	case len(name) > MaxName:
		return fmt.Sprintf("this is left out: the name of a document has at most %d bytes", MaxName)
	case strings.HasSuffix(lower, extension) && !strings.HasSuffix(name, extension):
		return "this is left out: the name of a document ends in " + extension + ", in small letters"
	case slices.Contains(otherFormats, path.Ext(lower)):
		return "this is left out: a document is plain JSON, in a file whose name ends in " + extension
	}
	return ""
}

// otherFormats are the extensions of files that say what JSON would.
var otherFormats = []string{".jsonc", ".json5", ".yaml", ".yml"}

// OverlookedOutside reports whether a file that lies beside the workspace file, or
// in a folder that is none of the layout, may have been meant to be a document.
func OverlookedOutside(name string) bool {
	return KnownName(name) && name != File && name != "package.json" && !strings.HasPrefix(strings.ToLower(name), "readme")
}

// FolderLike returns the folder that another one's name looks like, or "".
func FolderLike(name string) Folder {
	var known []string
	for _, folder := range Folders {
		if string(folder) == name || strings.HasPrefix(name, ".") {
			return ""
		}
		known = append(known, string(folder))
	}
	return Folder(closest(name, slices.Values(known)))
}

// MaxName is how many bytes the name of a file may have; one with more cannot be
// checked out. The key that it makes is served with every answer.
const MaxName = 255

// KnownName reports whether a file of that name in a folder of the layout is
// part of the workspace.
func KnownName(name string) bool {
	return strings.HasSuffix(name, extension) && len(name) > len(extension) && len(name) <= MaxName &&
		!strings.HasPrefix(name, ".") && !strings.Contains(name, "/")
}
