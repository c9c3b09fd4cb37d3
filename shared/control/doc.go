// Package control is what the control plane does for a request: it authenticates it, and
// reads what it asks for. Package change makes its changes.
//
// A Service serves every workspace; a Session is one request on one of them, at
// the head that the request found when it was authenticated. Every error is, or
// wraps, a fault.Fault; fault.Of turns one into an answer.
//
// What must stay true:
//
//   - What is evaluated is compiled once for each commit and environment, so that
//     an evaluation reads no more than any other read. It changes nothing.
//   - What an instance remembers (the decoded documents of a head, messages it
//     has worked out) only saves time. A Session never changes what another
//     one reads.
//   - What a request is told never holds the content of a secret value.
package control
