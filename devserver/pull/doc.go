// Package pull copies a workspace into a config directory over the REST API, and what
// was changed there back.
//
// Documents and JSON Schemas come as they are stored. The workspace file is made
// from the list of environments; one that documents name and the list lacks is
// declared archived.
//
// What was pulled is remembered in the directory, in .svc-pull.json, which svc
// serve and svc verify ignore:
//
//	{"workspaceId", "tag", "commitSha", "files": {"<path>": {"commitSha", "sha256"}}, "seal"}
//
// Where the files are what was pulled, the tag is sent along: an answer that nothing
// is new ends the pull.
//
// What must stay true:
//
//   - A file that differs from what was pulled last is a local change. Where
//     the workspace holds something else, nothing at all is written, and all
//     such files are named, unless Force is set.
//   - What is remembered counts where its seal is of this user on this machine. Another
//     state, which may have come with the files, only ever has a pull refused.
//   - A file that was never pulled and that the workspace does not have is left
//     alone.
//   - A pull is done as a whole or not at all: see datadir.Write.
//   - Nothing outside the directory is read or written, whatever links lie in
//     it and whatever keys the server names: all files are reached through an
//     os.Root, and a key that breaks the rule for keys, or is no file name on
//     some system, ends the pull before anything is written.
//   - An answer without the list that was asked for is an error, never an empty
//     list: it would remove every file.
//   - A pull leaves no directory that svc serve refuses: what would be is read
//     before anything is written. What only svc verify objects to is told.
//   - What is written is one state of the workspace: all documents are of one
//     commit.
//   - A push is one change set: all of it is done, or nothing. Each document goes with
//     the commit that it was pulled at, so that no change of anybody else is written
//     over, and what it deletes was asked for.
//   - After a push, the next pull and push find nothing. Where it is not known whether a
//     push was carried out, the error says so.
package pull
