// Package minting makes keys: it checks what is asked for, finds or adds the
// principal that the key stands for, and puts the key's record into a registry.
//
// What must stay true:
//
//   - All that is wrong with a request is said at once, and nothing is changed
//     then.
//   - A key's text can be had from what Mint returns and nowhere else; the
//     registry gets its digest.
//   - A principal that is there already keeps its roles: roles are changed by
//     name, not by the way.
package minting
