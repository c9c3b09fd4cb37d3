package versions

import (
	"bytes"
	"reflect"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
)

// stateOfAllKinds is the State of documents of all kinds.
func stateOfAllKinds(t testing.TB) *State {
	t.Helper()
	s := &State{}
	for key, text := range map[string]string{
		"a": `{"key":"a","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"s"}}],"value":{"type":"bool","value":true}}]},"environments":[{"id":"e","rules":[{"criteria":[{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":5000}}],"value":{"type":"bool","value":true}}]}]}`,
		"b": `{"key":"b","type":"config","valueType":"string","default":{"rules":[]},"environments":[{"id":"f","rules":[]}]}`,
		"s": `{"key":"s","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"t"}},{"operator":"PROP_IS_ONE_OF","propertyName":"svc.current-time","valueToMatch":{"type":"string_list","value":["1"]}},{"operator":"PROP_BEFORE","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":-7}}],"value":{"type":"bool","value":true}}]}}`,
	} {
		tree := must.Get(document.Parse([]byte(text)))(t)
		s.Add(key, tree, document.View(tree))
	}
	return s
}

func TestStatesComeBack(t *testing.T) {
	for _, s := range []*State{{}, stateOfAllKinds(t)} {
		b := s.Encode()
		again, err := ReadState(b)
		if err != nil || !bytes.Equal(again.Encode(), b) {
			t.Fatalf("%+v is read as %+v, %v", s, again, err)
		}
		for _, environment := range []string{"e", "f", "g"} {
			if got, want := again.Of(environment, Salt{1}), s.Of(environment, Salt{1}); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", environment, got, want)
			}
		}
		for n := range b {
			if _, err := ReadState(b[:n]); err == nil {
				t.Errorf("%d of %d bytes were taken", n, len(b))
			}
		}
	}
}

func FuzzReadState(f *testing.F) {
	f.Add((&State{}).Encode())
	f.Add(stateOfAllKinds(f).Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadState(b)
		if err != nil {
			return
		}
		s.Of("e", Salt{})
		first := s.Encode()
		again, err := ReadState(first)
		if err != nil || !bytes.Equal(again.Encode(), first) {
			t.Errorf("%x is read as %+v, which is read as %+v, %v", b, s, again, err)
		}
	})
}
