package telemetry

import "github.com/go-json-experiment/json"

// Decode reads what encoding/json has made of a Saved. A walk decodes tens of thousands,
// and encoding/json takes four times as long.
func (s *Saved) Decode(text []byte) error { return json.Unmarshal(text, s) }
