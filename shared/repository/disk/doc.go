// Package disk keeps a repository's git objects in an ordinary bare git
// repository on a local disk, beside whatever real git does to it: a push, a
// commit from a work tree, git gc. Reading and merging is package odb's; this is
// how things are written and removed.
//
// What must stay true:
//
//   - A pack that PutPack stored survives a loss of power from the moment
//     PutPack returned: pack, index and directory are flushed, in that order,
//     the pack's file first and its index, which makes git see it, last.
//   - A pack that svc writes carries a .keep file until it is merged, or for an hour: git
//     decides by older lists of packs, or by a multi-pack-index, what it deletes, and
//     several of its commands at once can each delete what another one relies on.
//     Compact merges packs that are kept so, but for those of a commit that is being
//     made, until its Release.
//   - What is being written has a name that git's chores leave alone. What a
//     crash left behind is removed by its age on the file system's own clock.
//   - Compact deletes a pack after the pack that holds its objects was read back
//     and is as durable as it was, index first, so that no reader ever sees an index
//     without its pack.
//   - A pack that has lost its index gets it again, under another name (IndexAgain): git gc
//     deletes an index and a .keep for garbage if it has not seen the pack beside them, and
//     git repack deletes a pack that it has listed without a .keep, whatever it has by then.
//     Release looks once more whether the pack of a commit is whole.
//   - A pack that a multi-pack-index names is left to git, which finds objects through
//     it alone. Git may still list packs, and write that file once Compact has deleted
//     some of them: DropStaleMultiPack deletes it. Where no process is left to call that,
//     git cannot read what it looks for in those packs until the file is gone, and
//     git gc may delete the only copy once somebody has deleted the .keep files.
//
// One commit is one pack, so their number grows until Compact is called: let
// the owner call it every hundred commits or so. It leaves a number of packs
// that grows with the logarithm of the history. The repositories that Init
// makes leave collecting to it (gc.auto 0); running git gc by hand is fine at
// any time, and leaves what is kept. All indexes are in memory, some 40 bytes for each object.
//
// All methods may be called at once, and several processes may work on one
// repository.
package disk
