// Package admin is what only an operator does to a hosted service: make
// workspaces, bring one to the state of a directory, export it, back it up and
// restore it, and look after what is stored. It is the use cases of svcadmin and of the
// maintenance function; how they are asked for and shown is theirs.
//
// What must stay true:
//
//   - Everything that changes documents is one commit on top of the head that
//     was seen, or nothing.
//   - What is imported, exported and rebuilt is git's own: the same commits,
//     under the same names.
//   - Nothing is deleted that a head names or can come to name. That rests on
//     the order of steps (see Workspace.sweep) and on the head's fence, and on no
//     clock. Beyond that everything stays for a day, by the bucket's own clock,
//     for those who still read it. Maintenance asks no other clock.
//   - Code that stores something for a head to name, be it a merged pack, a
//     snapshot or a new set of rows, has read the fence before, and has it
//     checked when it is named.
//   - Nobody is served from a workspace that is being restored or recovered, before
//     all of it was read back and compared. Whatever interrupts that, it can be done
//     again, and nothing of the earlier attempt shows.
//   - A check reports all it finds and changes nothing. A repair writes only
//     what git says; where git itself lacks something, it says so.
//   - Everything may go on meanwhile: readers, writers, another one of these.
//
// # In the bucket
//
//	workspaces/<id>/              the workspace's git objects, see shared/repository/s3
//	maintenance/<id>.json         what is not needed any more, and since when, by
//	                              the bucket's clock; may be lost
package admin
