// Package httpapi is the control plane's REST API.
//
// The API's description, openapi.json, which is written by hand, drives the routes: methods,
// paths, groups, whether a key is needed, and what the query and a body may hold. Handlers
// are bound to it by operationId. The tests hold every answer against the
// description's response schemas, closed, so that a field cannot be added or lost in
// only one of the two.
//
// A group of operations is a tag of the description and a Group here. New
// serves the groups it is given and links no other, so that each can be a
// program of its own.
//
// The reference page is drawn in the browser by Swagger UI (package swaggerui)
// from the description. The files that it loads are served beside the description's
// operations, as they are no part of the API.
//
// What must stay true:
//
//   - The checks of a request come in one order: path, rate limit of a key
//     that this instance knows, key, rate limit of a new one (package
//     authentication), workspace, subscription (control.Service.Open), shape. The
//     rest is control's. Whoever has no key learns nothing but which paths exist.
//   - A request waits for nothing but the stores and memory; those of the
//     OpenFeature CLI, which has no patience of its own, wait at the rate limit too,
//     a few at a time.
//   - All that is wrong with a request's shape is said at once. For a write
//     what is found here goes to control, which adds what it finds.
//   - What control checks in better words (required, oneOf, if, unknown fields
//     inside of a field) is in the description for others and not run from it;
//     a test holds the two together.
//   - What is published stays: testdata/published.txt records the description,
//     and v1 only grows. A change of openapi.json is recorded with it (the test
//     that fails says how); one that breaks clients cannot be.
//   - Generators of clients read the description too: conditions that no
//     language has types for stand in if, then and else, which they pass over,
//     and not in oneOf.
//   - An answer is complete before its first byte is written, so that a panic
//     is an orderly 500.
//   - A log line holds no key, no value and no body. A cause is for the log
//     and never for the client.
//   - The reference page asks no host but the one it came from, for anything;
//     what it sends goes to where it was loaded from, whatever address the
//     description names; a key that is pasted into it is forgotten with the
//     page. Its addresses are relative, so that it works below any path.
//   - The path is taken as package router takes it: segment by segment, as it
//     was sent.
package httpapi
