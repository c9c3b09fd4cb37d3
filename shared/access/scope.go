package access

import (
	"maps"
	"slices"
)

// DefaultScope is the name of the scope that holds the default rules. It is
// reserved and never an environment's name.
const DefaultScope = "default"

// Scope is a part of a document that a write touches: the rules of an
// environment or, under the name DefaultScope, the default rules and metadata.
type Scope struct {
	Name      string
	Protected bool
}

// Environments says of each environment of a workspace whether it is protected.
type Environments map[string]bool

// Scope is the scope of that name. The default scope reaches every environment
// that has no rules of its own, so it counts as protected as soon as one
// environment is. The same holds for a name that the workspace does not
// declare: nothing is known of it.
func (e Environments) Scope(name string) Scope {
	protected, declared := e[name]
	if name == DefaultScope || !declared {
		protected = slices.Contains(slices.Collect(maps.Values(e)), true)
	}
	return Scope{Name: name, Protected: protected}
}

// Metadata is the scope touched by a change outside every rule list: name,
// tags, access and the like.
func (e Environments) Metadata() Scope {
	return e.Scope(DefaultScope)
}
