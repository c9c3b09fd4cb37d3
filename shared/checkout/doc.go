// Package checkout writes a workspace as an ordinary git repository with a work
// tree, as git clone leaves one. It needs no git.
//
// Nothing is written outside the directory that was named, nor into its .git,
// whatever the tree's entries are called and wherever links lead.
//
// The journal of an older svc is not written, though the commit has it: git says that it is
// deleted.
//
// The formats are go-git's. Its own checkout is not used: it looks each file up
// from the root, and decodes a folder below the root again for each lookup. With
// 10,000 files in one folder, which is what a workspace is, that took nine
// minutes.
package checkout
