package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"svc.example/svc/shared/jsontree"
)

// MaxFile is how large a file may be that is imported.
const MaxFile = 64 << 20

// maxValues is how many values it may hold. A tree takes some 100 bytes for each.
const maxValues = 4_000_000

// read reads a text of JSON, or of YAML, whose top is an object.
func read(text []byte, isYAML bool) (map[string]json.RawMessage, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("it has more than %d MiB: export in parts", MaxFile>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if isYAML {
		var err error
		if text, err = fromYAML(text); err != nil {
			return nil, err
		}
	}
	tree, err := jsontree.ParseWithin(text, maxValues)
	if err != nil {
		if syntax, ok := errors.AsType[*jsontree.SyntaxError](err); ok && !isYAML {
			hint := ""
			if syntax.Offset >= len(bytes.TrimSpace(text)) {
				hint = "; the file was cut off"
			}
			return nil, fmt.Errorf("line %d, column %d: %s%s", syntax.Line, syntax.Column, syntax.Message, hint)
		}
		return nil, err
	}
	if tree.Kind != jsontree.Object {
		return nil, fmt.Errorf("its top is %s, where exports have an object", tree.Kind)
	}
	root := map[string]json.RawMessage{}
	for _, m := range tree.Members {
		root[m.Name] = m.Value.Compact()
	}
	return root, nil
}

// fromYAML is a document of YAML as JSON. The library refuses aliases that multiply.
func fromYAML(text []byte) ([]byte, error) {
	var all, second any
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("this is no YAML that can be read: %w", err)
	}
	if err := d.Decode(&second); err != io.EOF {
		return nil, errors.New("it holds several documents of YAML: put each into a file of its own")
	}
	left := maxValues
	plain, err := plain(all, jsontree.MaxDepth, &left)
	if err != nil {
		return nil, err
	}
	made, err := json.Marshal(plain)
	if err != nil {
		return nil, errors.New("it has a number that is none in JSON, such as .inf")
	}
	return made, nil
}

// plain is a value of YAML whose keys are texts, as JSON has them.
func plain(v any, depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth == 0 {
		return nil, errors.New("it holds too many values, or they are nested too deep")
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			p, err := plain(member, depth-1, left)
			if err != nil {
				return nil, err
			}
			v[name] = p
		}
	case map[any]any:
		texts := make(map[string]any, len(v))
		for name, member := range v {
			texts[fmt.Sprint(name)] = member
		}
		return plain(texts, depth, left)
	case []any:
		for i := range v {
			p, err := plain(v[i], depth-1, left)
			if err != nil {
				return nil, err
			}
			v[i] = p
		}
	}
	return v, nil
}
