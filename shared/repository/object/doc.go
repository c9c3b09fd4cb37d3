// Package object is git's objects as bytes: blobs, trees and commits, and the
// names that git gives them.
//
// What must stay true:
//
//   - Encoding is deterministic and git's own: the same entries make the same
//     object id as real git would.
//   - DecodeTree loses nothing: encoding what it returns gives the same bytes,
//     whatever modes, order or names somebody else's git has written.
//   - Decoding never panics and never allocates more than its input asks for.
package object
