// Package negotiation reads what a client says of the answers that it takes:
// packed or not (Accept-Encoding), and which one it has already
// (If-None-Match).
//
// What must stay true:
//
//   - A coding that the client refuses (q=0) is never sent, whatever a * says.
//   - Entity tags are compared weakly; equal answers have equal bytes, packed
//     ones too.
package negotiation
