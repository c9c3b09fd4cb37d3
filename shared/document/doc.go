// Package document is the stored document: one flag, config, log level or
// segment as a JSON object in the workspace's git tree.
//
// A document is held twice: as the tree it was written as, which edits change
// and which is written back, and as a Document, the decoded view that
// evaluation and the API's answers read. The view is never written back, so a
// field this code does not know is never lost.
//
// Package edit changes documents, activity says in words what a change was, and
// project is what readers of the API see of one.
//
// What must stay true:
//
//   - Decode accepts every document that was ever valid. It refuses only what
//     it cannot make sense of (a rule list that is no array, a bool that is a
//     string), and reports all of that at once, each with a JSON Pointer.
//   - Validate is the same walk with all that new content must be. The JSON Schema is
//     published for editors: it takes what Validate takes.
//   - Nothing here reads a clock, a file or the network, and nothing changes a
//     tree that it was given: edits return a new one.
package document
