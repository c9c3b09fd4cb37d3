// Package prereceive refuses pushes that would break a workspace: git asks it,
// by the hook pre-receive, before it takes what was pushed.
//
// Refused are a push that deletes the branch main (a rename deletes it too) or
// names it twice; references that the disk or git itself takes for main;
// references that are no branches, tags or notes, since refs/replace would change
// what git reads in place of any object;
// objects of more bytes than are read anywhere, whatever branch they are for; a
// new main in which something else stands in the place of a folder or file of
// the layout, a symbolic link or a submodule for example; and a new main with
// problems that svc verify calls errors, unless main has them already. Problems
// are printed in the answer to the push as file:line: message.
//
// What must stay true:
//
//   - What was pushed lies in git's quarantine while it is looked at, and no
//     object is inflated before its size is known.
//   - A hook that cannot run refuses: git takes a push that no hook looks at.
//   - What others have put into the repository stays: their hooks, their
//     settings, a pre-receive that is not svc's.
//
// Git for Windows runs hooks with its own sh. The hook is built for that and has
// not been tried there.
package prereceive
