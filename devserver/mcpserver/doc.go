// Package mcpserver is svc mcp: tools for programs that act for a person, over the
// Model Context Protocol (https://modelcontextprotocol.io). They read a workspace over
// its REST API, or a config directory, and change a workspace in two steps: a proposal
// is a change set that was tried out, in the words of the activity feed and with its
// impact, and apply_proposal carries out what was proposed.
//
// The tools stand in one table, tools.go.
//
// What must stay true:
//
//   - One tool writes, apply_proposal. What it may do, and what is refused, is the
//     REST API's to decide, with the key that the server was started with.
//   - A proposal is compare-and-set: each of its operations carries the commit that
//     the proposal was judged at, so that it is refused where an item has changed
//     since. It is sent under one Idempotency-Key, so that it is never made twice.
//   - No result has more than 16 KB, whatever it tells of. What is left out is counted.
//   - Confidential values are told by no tool. A document in which they are hidden is
//     not written back.
//   - Whatever comes from a client that is no message of the protocol is answered with
//     an error, and the next message is read.
package mcpserver
