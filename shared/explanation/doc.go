// Package explanation answers what an environment serves to a context, and why:
// the answer to POST /v1/evaluate, and of svc eval.
//
// A State is what one environment serves at one state of a workspace: every flag
// and config, compiled together, as the Go client has them. What a context may cost
// (package evaluation) comes to the same here as there; browsers, for whom less is
// compiled, may be a little below it.
//
// What must stay true:
//
//   - There is one evaluator: the values are what evaluation.Snapshot.Evaluate
//     returns, and an explanation tells what it has decided on the way.
//   - No confidential, encrypted or provided value is told: not as a value, not
//     as an arm of a split, and not as what a criterion expects.
//   - An answer is bounded, whatever the documents and the context hold: see
//     MaxKeys, MaxAnswer and MaxExplained.
package explanation
