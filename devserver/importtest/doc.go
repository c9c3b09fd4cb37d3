// Package importtest holds what svc import makes of other systems' flags against the
// evaluators of these systems, on random flags and contexts. It holds tests only.
//
// The evaluators are no dependency of the product. GO Feature Flag's and LaunchDarkly's
// are in Go. The others are npm packages, pinned in package.json and package-lock.json, and
// run by evaluate.js in Node.js.
//
// What must stay true:
//
//   - A flag that counts as imported serves what the other evaluator serves. One that
//     differs counts as approximated, and its reasons say why.
package importtest
