// Package ratelimit says how many requests are admitted: of a key, and of an
// address that has shown no good key yet.
//
// Buckets are token buckets, each under an ID, in this process's memory.
// Limiter puts two kinds of them in front of authentication: one for keys that
// have proved good, one for addresses. Address finds where a request comes
// from, also behind a proxy.
//
// What must stay true:
//
//   - The number of buckets is bounded, at some 40 bytes each, however many
//     clients send requests from however many addresses.
//   - Forgetting a bucket never gives tokens back. When there are too many, the
//     fullest is forgotten, and the newcomer starts with what was in it. So a
//     flood of addresses buys nobody a request.
//   - A refused request takes no token of what refuses it.
//   - A good key gets in behind a flood from its own address: see Limiter.
package ratelimit
