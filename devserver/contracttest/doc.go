// Package contracttest holds the published description of the control plane
// against what other people's tools make of it: Redocly's linter, clients
// that are generated from it in TypeScript and in Go, and Schemathesis, which
// sends requests that nobody thought of. It holds tests only. What svc api
// answers the OpenFeature CLI is held in the same way against the CLI's own
// description (testdata/goclient/manifest/sync.yaml).
//
// What they read is what a running svc api serves at /v1/openapi.json, and
// what they talk to is that server.
//
// None of the tools is a dependency of the product. The npm packages are
// pinned in package.json and package-lock.json, the generator of the Go client
// in testdata/goclient/go.mod, which is a module of its own, and Schemathesis in
// schemathesis/requirements.txt. What is generated is generated again by every
// run, in a folder that the run removes.
//
// What must stay true:
//
//   - A generated client is used as it comes out of its generator: neither the
//     description nor the client is touched up on the way.
//   - The smoke program in Go does what that in TypeScript does, with fewer
//     questions; each ends with a status other than 0 at the first answer
//     that is not as it should be.
//   - Schemathesis runs with all of its checks. What it would object to and is
//     nevertheless right is in schemathesis/allowed.py, as narrowly as it can
//     be said, with the reason.
//   - The server's code is imported, though it is never called: so a test
//     result that the go command has kept never hides a change of that code.
package contracttest
