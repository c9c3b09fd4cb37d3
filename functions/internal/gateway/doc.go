// Package gateway lets an http.Handler answer the events of an API Gateway
// HTTP API (payload format 2.0), as if it listened on a socket itself.
//
// Between a client and the handler stands the gateway, which changes requests.
// What must stay true:
//
//   - The path that the handler sees is escaped and taken apart at the right
//     slashes. The gateway decodes paths; which slash was a separator is told
//     by the route that it chose and that route's parameters.
//   - Headers arrive whole, and not split at commas, of which some stand inside
//     quotes.
//   - The query arrives as it was sent: repeated, empty, in its order.
//   - An answer is sent in the shorter of two forms, text or base64, and never
//     one that Lambda would refuse: what is too large is an error in our own
//     envelope, which says how large and what to ask for instead. Beside the handler's own it is in memory once as body and once as
//     it is sent.
//   - Where proxies in front are named (the variable trustedProxies of the stage), they
//     alone are answered, and tell the client's address in X-Forwarded-For.
//   - The handler stops before Lambda stops the process.
//   - Whatever an event holds, the answer is our envelope and the process
//     lives on: no panic, and no error out of Invoke.
//
// # What the gateway does to a path
//
// From events that were captured on AWS in 2026 (github.com/hotsock/voker,
// vokerhttp/testdata) and reports of its users, an HTTP API
//
//   - decodes a path twice: %20, and %2520 as well, arrive as a space. Where
//     the second decoding fails (%25 before anything that is no escape) it
//     answers 400 itself;
//   - cuts a path off at an escaped question mark (%3F). Sent as %253F it
//     arrives;
//   - turns %2F into a slash, and a run of slashes into one;
//   - chooses the route by the decoded path;
//   - keeps a slash at the end, and sends such a path to the route without it.
//
// What was cut off or merged is lost. No name of ours can hold it: keys and
// environments have no slash, and the base64 of UTF-8 text never has two
// slashes in a row (a test holds that). A key with a question mark in it, which
// only git can bring in, is reached as %253F.
package gateway
