// Package clone is about ordinary git repositories on a local disk: it finds
// the one whose history is to be imported, and writes the one that a workspace
// is exported to, work tree and all. It needs no git.
//
// What must stay true:
//
//   - Importing never changes what it imports from.
//   - A repository whose objects are not all its own (a shared or a partial
//     clone) is refused with the words that say how to make it whole.
//   - Nothing is written outside the directory that was named, whatever the
//     tree's entries are called.
package clone
