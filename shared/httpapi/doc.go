// Package httpapi is the control plane's REST API.
//
// The API is described once, by hand, in openapi.json, and that description
// drives the handlers: routes, query parameters, what a body may hold and
// whether a key is needed are read from it. Code is bound to it by operationId
// and by nothing else, and a group of operations that are not bound one to one
// does not start. The tests hold every answer against the description's
// response schemas, closed, so that a field can not be added or lost in only
// one of the two.
//
// A group of operations is a tag of the description and a Group here. New
// serves the groups it is given and links no other, so that each can be a
// program of its own.
//
// What must stay true:
//
//   - The checks of a request come in one order: path, rate limit of a key
//     that this instance knows, key, rate limit of a new one, workspace,
//     subscription, shape. The rest is control's. Whoever has no key learns
//     nothing but which paths exist.
//   - All that is wrong with a request's shape is said at once. For a write
//     what is found here goes to control, which adds what it finds.
//   - What control checks in better words (required, oneOf, if, unknown fields
//     inside of a field) is in the description for others and not run from it;
//     a test holds the two together.
//   - An answer is complete before its first byte is written, so that a panic
//     is an orderly 500.
//   - A log line holds no key, no value and no body. A cause is for the log
//     and never for the client.
//   - The path is taken as it was sent, segment by segment: a key may hold an
//     escaped slash, and nothing is cleaned or redirected.
package httpapi
