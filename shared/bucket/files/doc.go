// Package files is a file system (billy.Filesystem) in a bucket, for programs
// that know no other storage, such as go-git's own. The control plane does not
// work through it: see package shared/repository/s3, and what the same costs
// here.
//
// A file is an object whose key is its path below a prefix. A folder is an
// empty object whose key ends with a slash, or any object below it.
//
// What holds, as on a disk:
//
//   - A file that was closed without an error is there, whole, for everybody.
//     One that is being written is seen by those who use the same Files, and
//     by nobody else.
//   - O_EXCL: of several who create a file, exactly one does. Its name is
//     taken from that moment on.
//   - A file that was opened without O_TRUNC and changed is written back only
//     if it still is what it was; else Close fails with bucket.ErrChanged and
//     changes nothing. That is what keeps writers from losing each other's
//     changes: Lock does nothing.
//   - A file that is open for reading is one version of it. When that has been
//     replaced, what was not read yet is bucket.ErrChanged, and never another
//     version's bytes.
//   - ReadDir tells all names, however many.
//
// What does not:
//
//   - Rename copies and then deletes, for files only. The new name appears
//     whole and replaces what was there; a crash in between leaves both names,
//     and of two who rename one file both may succeed. (git and go-git rename
//     files whose names are their content's.)
//   - A file and a folder of one name may both be made; whoever makes the
//     second is not told. Only MkdirAll looks for files in its way.
//   - A folder that was never made, but came with a file in it, goes with its
//     last file.
//   - There are no links, modes and times; what is written is in memory until
//     it is closed.
//
// A Files carries a context, which ends all it does.
package files
