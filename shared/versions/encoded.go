package versions

import "github.com/go-json-experiment/json"

// encodedState is a State as JSON.
type encodedState struct {
	Everywhere scope              `json:"everywhere"`
	Own        map[string]scope   `json:"own,omitempty"` // by environment
	Segments   map[string]segment `json:"segments,omitempty"`
}

// Encode is the State as JSON. Equal states have the same bytes. There are none where a
// name is no UTF-8.
func (s *State) Encode() []byte {
	text, _ := json.Marshal(encodedState{s.everywhere, s.own, s.segments}, json.Deterministic(true))
	return text
}

// ReadState reads what Encode wrote.
func ReadState(text []byte) (*State, error) {
	var e encodedState
	err := json.Unmarshal(text, &e)
	return &State{e.Everywhere, e.Own, e.Segments}, err
}
