package served

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// briefsFiles are files of which some can be told of in brief.
func briefsFiles() *repository.Snapshot {
	s := &repository.Snapshot{}
	for _, f := range [][2]string{
		{"configs/broken.json", `{`},
		{"feature-flags/a.json", `{"key":"a","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_MATCHES","propertyName":"user.key","valueToMatch":{"type":"string","value":"^a"}}],"value":{"type":"bool","value":true}}]},"environments":[{"id":"production","rules":[]}]}`},
		{"feature-flags/wrong.json", `{"key":"wrong","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[],"value":{"type":"bool","value":1}}]}}`},
		{"segments/s.json", `{"key":"s","type":"segment","valueType":"bool","default":{"rules":[]}}`},
		{"svc.json", `{"environments":["production"]}`},
	} {
		s.Files = append(s.Files, repository.File{Path: f[0], Blob: object.Hash(object.Blob, []byte(f[1])).String(), Text: []byte(f[1]), Last: &repository.Commit{}})
	}
	return s
}

// TestBriefsFormat: what is stored is read by other versions of svc, which take it
// for what they would make of the documents themselves. Whoever changes this raises
// briefsFormat.
func TestBriefsFormat(t *testing.T) {
	const want = "b6e67b8c16ede39f74068db0c9d03dc539d62b4739c9e6d51dee051b5da22a58"
	briefs := newView(briefsFiles(), nil, false).briefs()
	if got := fmt.Sprintf("%x", sha256.Sum256(briefs)); got != want {
		t.Errorf("%s\n%q", got, briefs)
	}
}

// TestBriefsTellOfDocuments that can be served as they are, and of nothing else.
func TestBriefsTellOfDocuments(t *testing.T) {
	s := briefsFiles()
	whole := newView(s, nil, false)
	v := briefed(s.Files, whole.briefs())
	for i, f := range s.Files {
		told, known := v.read[i], whole.read[i]
		if (told != nil) != known.servable() {
			t.Errorf("%s is told of: %t", f.Path, told != nil)
		}
		if told != nil && fmt.Sprintf("%+v", *told) != fmt.Sprintf("%+v", *known) {
			t.Errorf("%s is\n%+v, want\n%+v", f.Path, *told, *known)
		}
	}
	if got, want := string(v.readable.Encode()), string(whole.readable.Encode()); got != want {
		t.Errorf("the versions are %s, want %s", got, want)
	}
	if again := newView(s, v, false); string(again.briefs()) != string(whole.briefs()) {
		t.Error("a view that is made from briefs has others")
	}
}

func FuzzBriefed(f *testing.F) {
	s := briefsFiles()
	f.Add(newView(s, nil, false).briefs())
	f.Fuzz(func(t *testing.T, b []byte) {
		if v := briefed(s.Files, b); v != nil {
			newView(s, v, false).briefs()
		}
	})
}
