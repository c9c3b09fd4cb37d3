// Package s3 keeps a repository's git objects in an S3 bucket, below a prefix
// of the workspace's own:
//
//	<prefix>/HEAD, <prefix>/config            written once, by Init
//	<prefix>/objects/pack/pack-<sha>.pack     one for each commit, until they
//	<prefix>/objects/pack/pack-<sha>.idx      are merged
//	<prefix>/snapshots/<sha256>               what a cold reader begins with, by
//	                                          zstd; the name is the content's
//
// A copy of the prefix, with refs/heads/main set to the head, is an ordinary
// bare repository. Reading and merging is package odb's; this is the requests
// beneath it, and what is removed when.
//
// What must stay true:
//
//   - No request of the control plane lists the bucket. Which packs there are
//     is what the ledger says (see New); only Merge, Sweep and List list.
//   - A pack and its index are written at once, each only if it is not there:
//     a name tells the content's checksum and the fence that the writer has
//     read (pack.NameAt, and the fence in a snapshot), so what is there is the
//     same, and was stored since the last sweep.
//   - Merge adds a pack and deletes nothing. Sweep alone deletes: what was
//     listed before the head's fence was raised, and what nobody names after
//     that. No clock decides what is safe to delete; a name that was swept, or
//     is about to be, is never given again. The store's own clock only grants
//     readers a day; one that meets a pack which is gone asks the ledger again.
//
// What a failure that may pass has left of a request is repository.ErrBusy.
// All methods may be called at once, from any number of processes.
//
// What lies beneath is not a billy.Filesystem: what that promises of names,
// folders and open files takes requests of which a pack needs none.
package s3
