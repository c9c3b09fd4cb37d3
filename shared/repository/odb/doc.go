// Package odb is a repository's object database, once for all the places where
// one may lie: git's packs with their indexes below objects/pack, and on a disk
// loose objects beside them. Packages disk and s3 are the file systems beneath
// it, and what only one of them needs.
//
// What must stay true:
//
//   - An object is found wherever it lies: in any pack, by now merged or
//     collected, as a delta, or loose. Only a miss asks again which packs there
//     are.
//   - A hint where an object lies costs one read of that place. When it no
//     longer holds, the object is found through the indexes, which are read once
//     and kept.
//   - What is returned under an id hashes to that id.
//   - Merging adds a pack and removes none. Who removes the others, and when, is
//     decided by the file system's owner.
//
// # Why this is not go-git's
//
// go-git reads and writes the formats here. What it does not do well for a server is
// ours:
//
//   - Its storage lists folders and looks at files one by one; through S3 that
//     takes 11 requests to read one file. Here a request lists nothing: which
//     packs there are, the ledger says, and an object whose place is known is
//     one ranged read.
//   - Its storage is not safe for concurrent readers, and does not see packs
//     that others have written. Objects are, and do.
//   - It looks for deltas whenever it writes a pack. A commit's pack is whole
//     objects in a fixed order here, so that the same commit stored twice is the
//     same file.
//   - Its repack of 10,000 packs took 324 seconds and wrote 144 MB. Merging here
//     streams: it copies objects as they lie, and keeps the indexes, a few
//     trees, and up to a bound the documents of which versions may come.
//   - It flushes nothing. On a disk, pack and index are flushed before they get
//     their names, and the folder after that.
//   - It inflates whatever it is given. Here an object's size, and that of what
//     it is a delta of, is looked at first.
//
// All methods of Objects may be called at once.
package odb
