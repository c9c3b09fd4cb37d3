package workspace

import (
	"strings"
	"testing"

	"svc.example/svc/shared/document"
)

func TestSplitPath(t *testing.T) {
	for path, want := range map[string]struct {
		folder Folder
		key    string
	}{
		"feature-flags/a.json":        {Flags, "a"},
		"configs/a.b-c_d.json":        {Configs, "a.b-c_d"},
		"log-levels/log-level.x.json": {LogLevels, "log-level.x"},
		"segments/a.json.json":        {Segments, "a.json"},
		"schemas/S.json":              {Schemas, "S"},
		"svc.json":                    {},
		"segments/" + strings.Repeat("a", MaxName-5) + ".json": {Segments, strings.Repeat("a", MaxName-5)},
		"segments/" + strings.Repeat("a", MaxName-4) + ".json": {},
		"feature-flags/.a.json":                                {},
		"feature-flags/.json":                                  {},
		"feature-flags/a.JSON":                                 {},
		"feature-flags/a.json~":                                {},
		"feature-flags/a/b.json":                               {},
		"feature-flags":                                        {},
		"feature-flags/":                                       {},
		"Feature-Flags/a.json":                                 {},
		"/feature-flags/a.json":                                {},
		"x/feature-flags/a.json":                               {},
		"feature-flags/../svc.json":                            {},
		"../feature-flags/a.json":                              {},
		"feature-flags\\a.json":                                {},
		"":                                                     {},
	} {
		folder, key, ok := SplitPath(path)
		if folder != want.folder || key != want.key || ok != (want.key != "") {
			t.Errorf("SplitPath(%q) = %q, %q, %v", path, folder, key, ok)
		}
	}
}

func TestFoldersAndTypes(t *testing.T) {
	for _, of := range []document.Type{document.Flag, document.Config, document.LogLevel, document.Segment} {
		folder := FolderOf(of)
		if back, ok := folder.Type(); !ok || back != of {
			t.Errorf("%s is held by %s, which holds %s", of, folder, back)
		}
		if f, key, ok := SplitPath(Path(of, "a.b")); !ok || f != folder || key != "a.b" {
			t.Errorf("Path(%s) does not split again", of)
		}
	}
	if _, ok := Schemas.Type(); ok {
		t.Error("schemas hold no documents")
	}
	if FolderOf("schedule") != "" {
		t.Error("an unknown type has a folder")
	}
}
