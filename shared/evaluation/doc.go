// Package evaluation decides what each flag and config serves to a context.
//
// A Snapshot is the documents of one head compiled for one environment: rules
// become lists of tests over numbered slots, one slot per context property
// that any rule reads, and every value that could be served becomes a numbered
// Answer. A Frame holds one context, sorted into the slots. Evaluating an item
// is then a walk over its rules with no lookup by name and no allocation, and
// a server can keep an encoded form beside each Answer and only copy it.
//
// What must stay true:
//
//   - Pure: no clock, no randomness, no logging. Both come with the Frame.
//   - A Snapshot never changes; any number of goroutines may evaluate it. A
//     Frame belongs to one goroutine at a time.
//   - Whatever a context holds, evaluation answers: an operand or a property
//     of the wrong kind makes a test false, never an error.
//   - What a context costs is bounded, whatever it holds: see cost.go. What
//     would cost more counts as an object does.
//   - Two contexts with equal properties get the same answer, except where a
//     split has no property to hash.
package evaluation
