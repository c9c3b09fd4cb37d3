// Package local is the ledger of one workspace in a directory on disk: its
// head is the branch main of an ordinary bare repository, its keys and
// principals are one JSON file, its history is an index in memory.
//
//	repository.git/   the bare repository; git's own tools may work on it
//	registry.json     workspace record, principals, keys (digests only)
//	audit.log         what was done to the registry, by whom; lines are only appended
//	used.json         on which day each key was used last, and sessions by their person; may be deleted
//	svc.db            a table (package table/bolt): what requests under an Idempotency-Key
//	                  were answered, for 24 hours, and telemetry
//	history.cache     the index, to start without walking; may be deleted
//	svc.lock          held by the process that serves the directory
//	write.lock        held while the head or the registry is written
//	write.turn        held while waiting for write.lock
//
// # The head
//
// The head moves as git moves it: refs/heads/main.lock is made, the reference
// is read again under it (the loose file, else packed-refs), and the lock file
// is renamed over the reference. So git push, git commit in a linked worktree,
// git gc and git pack-refs may run at any time, and no update of either side
// is lost. A lock that git holds is waited for and never broken.
//
// The new id is written and flushed to repository.git/svc-next first, and the
// lock is made as a hard link to it. That keeps the time short for which git
// has to wait. A lock that a killed process left behind has the id that is in
// svc-next, which nobody but svc knew. (Where the file system has no hard links, a
// process killed between making the lock and writing to it leaves an empty one that
// nothing tells from git's. It has to be removed by hand.)
//
// A repository that has had a branch main and has none is an error that says
// so, never an empty workspace. Where main names a commit that cannot be read
// (the commit, one before it or a folder is too large, malformed, of another kind, damaged
// or missing) or served (its documents have too many bytes together, or something else stands
// in the place of a folder that it removes), or no commit at all, the one before is read on and nothing is written; Authenticate tells
// why. A failure of the disk is an error, and no such reason. It is
// looked at again, as what is lost may be the rest of a copy that is being made. A file that
// is lost is broken alone.
//
// The repository's hooks are not run: they belong to pushes. Its reference log, where it
// has one, tells of git's moves alone: svc's are the history.
//
// Before Advance returns, the file with the new id and the directory that
// names it have been flushed to disk, and before that the commit's objects.
//
// What a commit's request is answered is flushed to svc.db before the head moves as well,
// with the commit's id: it counts once the history has that commit.
//
// # Locks
//
// They are taken in this order and no other:
//
//  1. the writer's turn in this process (Ledger.writing)
//  2. write.turn and then write.lock, both of the operating system, which
//     releases them when a process is killed; write.turn is let go as soon as
//     write.lock is held. The one who waits for write.lock holds write.turn,
//     so that a process that writes without pause cannot keep it from others.
//     Those of one process share write.lock, in the order in which they came (sharedLock).
//  3. refs/heads/main.lock
//
// Advance compares the access version under write.lock and holds that until
// the head has moved. An edit of the registry holds it too. So a revocation is
// either before a write, which is then refused, or after it: never between its
// check and its landing.
//
// A server whose commit has landed, or has to be decided again because the registry was
// edited meanwhile, keeps write.lock for its next one. Otherwise the edits of others would
// come between all its commits, and have each decided twice. Others are let in after a
// third of a second, or as soon as no commit has come for a moment.
//
// # The history
//
// A commit that this process makes is appended to the index as it lands. One
// that arrives in another way is noticed because every Authenticate reads the
// reference; what is new is then walked, in the order of git rev-list
// --date-order --reverse. A commit touches what differs from its parent, a
// merge what differs from each of its parents. So the history of a path is what
// git log shows of it, and beyond that the commits of a side whose version a
// merge did not take, which git log passes over. What counts as a file is up
// to repository.IsFile and object.TreeEntry.IsFile; the rest is not there.
//
// A head that does not descend from the one before was forced. That is
// reported through Options.Rewritten, and the history is made again from it.
// Its sequences begin above all that were given out before, with a gap, so
// that no sequence ever stands for two states. Since refuses, with
// repository.ErrMoved, to continue from a sequence of the history that is
// gone, as do History and At for a head of it: a reader who kept something of
// it starts over. Across a restart sequences stay as long as the cache does.
//
// A past commit's file is found in the index as long as the history up to it
// is a line, and in the commit's own tree otherwise.
//
// # The registry
//
// It begins with the format of the whole directory, which raises only what an
// older version would damage; a newer one is refused (repository.ErrNewer)
// before anything is touched. Fields that this version does not know, also those
// of a principal or a key, stay through every edit.
//
// It is a file and not rows of svc.db. Every request reads it, by a look at the file's
// identity, which takes 1.5 µs; a read of svc.db, which other processes may lock, takes 23
// µs, and 5 ms while telemetry is flushed. And a key can be revoked, with its line in the
// audit trail, whatever has become of svc.db.
//
// It is replaced as a whole: written beside, flushed, renamed over. Authenticate looks at
// the identities of this file, of the branch's and of svc.lock, so that a change by
// another process is seen by the next request, whatever folder above has been replaced.
// The file that was read is kept open, so that its identity is not given to another one
// meanwhile. Where svc.lock is not the file that this process has locked, the directory is
// another one, which another process may serve: nothing is read or written any more.
package local
