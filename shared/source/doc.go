// Package source reads what a workspace is to be made from: a config
// directory, or a git repository with its history.
//
// What must stay true:
//
//   - What cannot be read is refused as a whole, with all that is wrong.
//   - A history that git fsck calls broken is refused, but for modes that an older git
//     wrote.
//   - Files come in the form in which the API writes them; those of a history
//     stay as they were committed.
//   - Nothing is changed where it is read.
package source
