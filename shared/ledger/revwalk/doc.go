// Package revwalk finds out from git's objects what a ledger's rows say: which
// commits a head reaches, in which order they are told, and what each did to
// the layout's files. Reach goes through all objects there are, to copy or
// checks them.
//
// What must stay true:
//
//   - The order is that of git rev-list --date-order --reverse, so that two
//     walks of one history number its commits alike.
//   - A commit touches what differs from its parent, a merge what differs from
//     each of its parents. What counts as a file is up to repository.IsFile and
//     object.TreeEntry.IsFile; the rest is not there.
//   - Trees that are damaged are an error, never a panic.
package revwalk
