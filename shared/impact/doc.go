// Package impact tells for how many contexts a change of a workspace changes what
// they are served, before the change is made.
//
// Compare finds what two states of a workspace serve differently: the
// environments that the change reaches, and in each the flags and configs that it
// does, through segments too. For one environment at a time a Count compiles these
// items alone, as they are in both states, and evaluates one context after the
// other in both.
//
// What must stay true:
//
//   - It is package evaluation that evaluates, so what is counted is what
//     applications are served. (What one context may cost is bounded there, for the
//     rules of an environment together. Here there are fewer, so a context that goes
//     beyond that bound may be evaluated where applications have it cut short.)
//   - Who cannot be told by the context alone, because a split hashes a property that
//     it has not, falls on one and the same point in both states, which its key
//     decides: nobody is counted for chance.
//   - A value that is confidential, encrypted or provided by the environment of a
//     server is never told. That it changes is.
//   - The answer depends on the states and the contexts, in their order, alone.
//   - A Count keeps nothing of a context but of those that it gives as examples.
package impact
