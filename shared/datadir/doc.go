// Package datadir finds a config directory (a datadir) on disk, reads its
// files, and follows them as they change. It is the only package that knows
// how the layout of package workspace lies in a real file system: links,
// permissions, things that are no files, directories that are replaced.
//
// What must stay true:
//
//   - Nothing on disk makes a look at it hang, panic or read without bound:
//     only regular files are opened, each is read up to the size a document
//     may have, and only so many of them.
//   - Nothing outside the directory is read, whatever its symbolic links say:
//     those that stay within it are followed, one that leads out is left out
//     with a warning. Files are opened through an os.Root, so that a link which
//     is put there between a look and a read changes nothing. The directory
//     itself may be behind a link.
//   - A file of the layout that is there and cannot be read is a Fatal
//     problem. A file that vanishes while it is being read is merely absent.
//   - Watch sets up its watches before the look that follows, so that no
//     change falls between the two, and reports a state only when it differs
//     from the one before.
//   - Watch never gives up: whatever happens to the directory, or to the
//     system's supply of watches, it reports the next state that it finds.
//   - Writers take turns by Lock, whichever process they are in. Readers never wait.
//   - Of a change of several files all is done or nothing, also where its process is
//     killed: while files get their places, a journal says which they are and what was
//     there lies beside them. The next writer takes back what was done, but for what
//     an editor has written since.
//   - Files of the directory are data: the journal lies in the user's state directory,
//     and one among the files is obeyed by nobody. Who only reads writes nothing.
//
// # How a directory is watched
//
// The system's watches are on the directory and the folders of its layout. A watch
// belongs to a directory as it is on disk, not to its path: where others are found at the
// same paths, the watches are set up again from nothing. Changing the watches of a
// running fsnotify watcher is avoided because it keeps them by path, and a path whose
// directory was replaced is where its bookkeeping goes wrong.
//
// Whatever else changes what is read (a directory above, or what a symbolic link leads
// to) is found by the recheck every two seconds, and so is all where a file system does
// not report its changes (network and shared folders). On Windows a directory cannot be
// renamed while one below it is watched; deleting it works.
//
// # What is read
//
// While nothing was reported but documents by their names, and all of these were
// there before, only they are looked at and read. Whatever else was reported, and
// every recheck, lists all files; those are read that are not as they were, or that
// were seen so soon after they were written that one more write may look the same.
package datadir
