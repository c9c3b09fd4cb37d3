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
//   - A commit is in one pack: the changed blobs, the changed trees and the
//     commit, stored before the head moves. A pack whose commit lost the race
//     is garbage that no head names.
//   - Garbage is collected beside writers, and neither looks at a clock: a sweep
//     raises the head's fence before it reads what to keep, a head moves only
//     if its fence is still the one that the writer read before it stored
//     anything, and what is stored at another fence has another name. So a
//     pause of any length, of either of them, loses nothing: the writer begins
//     again.
//   - The head moves by one conditional step in the ledger, from the head the
//     writer saw. Two writers from one head: exactly one wins.
//   - No two requests make the same commit: each commit carries the random id
//     of its request (see Draft.RequestID). A name made of content alone cannot
//     tell two writers apart who write the same in the same second, and each
//     would take the other's commit for its own whose answer was lost.
//   - A write that landed is never reported as failed, and none is reported
//     that did not land. A failure of the ledger that leaves this open is
//     resolved by asking for the same step once more; see Ledger.Advance.
//   - What a commit does not change stays in the tree byte for byte, whether
//     or not it belongs to the layout. The rows do not tell of foreign files,
//     so a tree that was followed by rows is compared, by its id, with the
//     commit's before anything is written on top of it.
//   - What is written passes git fsck --strict: paths, names, dates and
//     messages are checked here, since git's formats take anything.
//   - No object is inflated before its size is known, and none of more bytes
//     than object.Max. A file that is too large is in the snapshot with a
//     workspace.Unread in place of its text. Files of more than MaxTexts bytes together
//     are no snapshot but TooLarge.
//   - Nobody is answered from a state that has not landed.
//   - A Snapshot never changes. One whose head is still the workspace's is
//     served without reading anything.
//
// # What is stored
//
// A pack of version 2 with the objects of one commit, each whole (git allows
// no delta without its base): the blobs, the folders' trees, the root tree and
// the commit, in this order, with an index of version 2. Its name is its
// checksum, as git names packs, as long as nothing was swept, and else made of
// that and the fence (see pack.NameAt). The encoding is deterministic. Package pack
// writes it, package object makes what is in it; merging packs later (see
// package odb) is what turns trees and older versions of documents into deltas.
//
// A ledger that is Checkpointed, over objects that are Checkpoints, has a
// snapshot stored every now and then, by the writer of the commit that it shows
// and beside that commit's pack. The head names the last one, so that a reader
// with nothing in memory needs that and the rows since, which carry the texts.
// Neither it nor the rows are part of the truth: what is lost is read from git.
// Beside the texts it may hold their briefs: whatever the writer has made of them for
// readers to whom the texts would take longer, in half as many bytes at most. Here
// they mean nothing.
//
// # What it costs
//
// In calls on Ledger and Objects, beyond the read of the head:
//
//	a read, nothing changed                    none
//	a read after commits elsewhere             Since, and Blob for each text that is new
//	a read by an instance that is new          LastTouches, Tree
//	a write                                    PutPack, Advance
//	a write after foreign files were changed   Tree, PutPack, Advance
//	the history of a file                      History
//	a file at a commit                         At, Blob
//	everything at a commit that is near        History, and At and Blob for each file that changed since
//	everything at a commit                     History, At, Tree
//
// and with a ledger that is Checkpointed, where that differs:
//
//	a read after commits elsewhere             Since
//	a read by an instance that is new          Since, Snapshot (at the same time)
//	a write, now and then                      PutPack, PutSnapshot (at the same time), Advance
//
// Package repositorytest holds every implementation to this and to the rest of the
// contract.
package repository
