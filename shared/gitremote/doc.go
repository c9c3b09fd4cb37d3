// Package gitremote keeps a branch of a git server in step with a workspace: each commit is
// pushed within seconds, in order, and nobody who writes waits for it. What is committed there is
// brought in, file by file.
//
// What must stay true:
//
//   - A branch only ever moves forward, from the commit that svc knows to be there: the server
//     compares it, as git's protocol has it. What was taken back or rewritten there stops the
//     pushing, and the status says what a person has to do.
//   - What was committed there comes here as it is, or as a side of a merge, and keeps to the
//     rules of a push. What both sides have changed, and what the rules refuse, waits there:
//     nothing is pushed meanwhile, and nothing of it is stored here but in a change request,
//     whose end decides it. What was applied is here, and what was closed is left out, so that
//     the merge keeps what is here of both.
//   - What is pushed is what has landed. A push whose answer got lost is found again by where
//     the branch is.
//   - Below a path, each commit there is one here and has the trailer Svc-Commit with its id.
//     Nothing else of that repository changes. The path leads through folders alone: never
//     through a symbolic link or a submodule.
//   - Neither a token nor a password stands in an error, a log or a row. An address with a
//     password is refused. Redirects are not followed, and a host's key is one that was pinned.
//   - Every byte has a deadline, and every answer a bound.
//
// The messages of git's protocol are go-git's; the connections are net/http's and x/crypto's,
// with no program beside svc. go-git's own connections read the user's ~/.ssh/config, wait
// for a handshake for ever, and hold a push in memory twice.
//
// # What is stored
//
// In the table, in the partition "remote", a row for each address, branch and path: the commit
// that was pushed last, with its sequence here and its id there, and the one that was about to be
// pushed. Beside it, what a change request asks and what was decided, until all of the remote is
// here.
package gitremote
