// Package admin is what only an operator does to a hosted service: make
// workspaces, bring one to the state of a directory, export it, and look after
// what is stored. It is the use cases of svcadmin and of the maintenance
// function; how they are asked for and shown is theirs.
//
// What must stay true:
//
//   - Everything that changes documents is one commit on top of the head that
//     was seen, or nothing.
//   - What is imported, exported and rebuilt is git's own: the same commits,
//     under the same names.
//   - Nothing is deleted from the bucket that a commit of the history needs, or
//     that was written or retired less than a day ago.
//   - A check reports all it finds and changes nothing. A repair writes only
//     what git says; where git itself lacks something, it says so.
//   - Everything may go on meanwhile: readers, writers, another one of these.
//
// # In the bucket
//
//	workspaces/<id>/              the workspace's git objects, see shared/repository/s3
//	maintenance/<id>.json         packs that were merged, until they are deleted
//	maintenance.json              where the last run of Maintain stopped
package admin
