// Package formattest opens what other versions of svc have stored: a data
// directory of svc api, the table and bucket of a hosted workspace, and backups of
// either, each as one archive in testdata, named for the number of its format. It holds tests
// only.
//
// What must stay true:
//
//   - An archive is never replaced. A format with a new number gets one of its own:
//     go test ./infra/formattest -record writes those that are not there yet.
//   - Whatever was answered when it was recorded is answered now: fields may have
//     been added to it, and none changed or removed.
//   - It is written on, and opened again.
package formattest
