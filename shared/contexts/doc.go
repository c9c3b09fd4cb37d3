// Package contexts holds what flags, configs and log levels are evaluated
// against: named contexts, such as user, team or device, each with properties.
//
//	user := contexts.Named("user", map[string]any{"key": "u-1", "plan": "pro"})
//
// A Set holds named contexts and never changes. Sets come in three layers,
// each more specific than the one before:
//
//   - global: a Global, which lies under every scope. A client has one.
//   - scoped: begun with Begin or With, carried in a context.Context, ended
//     with End. Scopes nest.
//   - just-in-time: a Set that is handed to one evaluation, and to no other.
//
// Layers merge per named context and not per property: a layer that supplies
// a named context replaces the whole context of that name below it, and the
// properties it does not have are gone. Named contexts that a layer does not
// mention survive.
//
//	global  {"device": {"os": "linux", "arch": "arm64"}, "team": {"key": "t-1"}}
//	scoped  {"device": {"os": "plan9"}}
//	result  {"device": {"os": "plan9"}, "team": {"key": "t-1"}}
//
// Two properties are special. key is the unchanging identifier of the entity;
// only a context that has one is ever saved, and each distinct key is counted.
// name is what people see in its place. Do not put a value that changes with
// every request (an IP address, a session id) in key: any other property is
// just as good for targeting and for a sticky rollout.
//
// What must stay true:
//
//   - Whatever is handed in is copied: a map or slice that changes later
//     changes nothing here. Everything is safe for concurrent use.
//   - Any Go value is taken. A scalar is compared by its text, a slice by its
//     scalars; a map or struct is present and equals nothing; nil is absent.
//   - A scope that has ended leaves what was before it, exactly.
//   - As long as no layer changes, Merged returns the same *Set: an evaluator
//     keeps what it has worked out beside it.
//
// The package needs nothing but the standard library. Package requestscope
// gives every HTTP request a scope of its own.
package contexts
