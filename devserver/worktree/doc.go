// Package worktree serves the REST API on a config directory: the control plane's own
// code, over a repository that is the files as they lie on disk. It is for a page on
// the developer's machine, on the address of svc serve.
//
// A write edits files, as the API would edit stored documents, and commits nothing.
// What is an item's commitSha elsewhere is the id that git gives to the content of its
// file: a token is good as long as the file has that content, whoever wrote it.
//
// What must stay true:
//
//   - Of a file only those bytes change that the edit is about: indentation, line ends,
//     the spelling of numbers, what svc does not know.
//   - A file that was edited on disk while somebody looked at it is never overwritten:
//     it is compared right before it is replaced, and the write is decided again. Other
//     processes of svc take turns with this one. Where the system cannot exchange two
//     files, an editor's own replacement between that look and ours is lost: see
//     datadir.Write.
//   - A change set is done as a whole or not at all, whenever the process is killed.
//   - Every request is refused, without a word of content, that does not name one of
//     the server's own hosts, comes from a page of another origin, or lacks the token,
//     which only the API's reference does not ask for: it has nothing of the directory.
//     The token is drawn for the process, and nowhere but in memory and in the page.
//   - What applications have asked with, their contexts and the flags that they named,
//     is in memory alone, bounded whatever they send, and told to the page only.
//
// The history is what the process has seen happen to the files, its own edits and those of
// others, within a bound of bytes. It begins with the files as they were found, and ends with
// the process. Its ids are those of the answers. Where several changes of a file have led to
// the same content, each has an id of its own, and an undo of the content's id is refused.
// Answers to requests with an Idempotency-Key are kept in the user's state directory, which
// all servers of the directory read.
package worktree
