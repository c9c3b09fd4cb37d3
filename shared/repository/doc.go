// Package repository is a workspace's git repository as the control plane
// reads and writes it: a head, a snapshot of all files at it, commits onto it,
// and its history.
//
// The truth is git's own: blobs, trees and commits in packs, and a head that
// names a commit. Everything else, the rows of the ledger and the snapshot in
// memory, can be rebuilt from them.
//
// What must stay true:
//
//   - A commit is one pack: the changed blobs, the changed trees and the
//     commit, stored before the head moves. A pack whose commit lost the race
//     is garbage that no head names.
//   - The head moves by one conditional step in the ledger, from the head the
//     writer saw. Two writers from one head: exactly one wins.
//   - What a commit does not change stays in the tree byte for byte, whether
//     or not it belongs to the layout.
//   - A Snapshot never changes. One whose head is still the workspace's is
//     served without reading anything.
package repository
