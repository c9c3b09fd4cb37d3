// Package apiload is many clients at work on the control plane's HTTP API, and
// the judges of what they saw. Tests of every way to run the control plane use
// it; nothing else imports it.
//
// What a load does is recorded and judged afterwards, by two judges:
//
//   - porcupine searches for an order of all requests, key by key, in which a
//     model of the contract gives the same answers. Keys that differ in case
//     only are one, as in the contract. A request without an answer (a client
//     that gave up, a server that was killed, 503) stays open: it may have
//     happened at any time from then on, or not at all.
//   - The history of the repository, as git tells it, is the one order of all
//     writes. The acknowledged writes and their previousCommitSha must be
//     exactly it, in an order that agrees with the clock, and each list must
//     be what one commit held.
//
// What must stay true:
//
//   - The model is written from the contract and shares no code with the
//     server. The server is reached by HTTP alone, and git by its program.
//   - Clients share principals, in pairs, and the two of a pair send the same
//     requests at the same moment: whose commit it was is all that tells their
//     writes apart.
//   - A test of a store also shows that the store is caught when it is broken on
//     purpose (Judges.Catch).
//   - Nothing is decided by how long something takes. Every choice comes from
//     a seed, which is logged; SVC_TEST_SEED makes the same choices again,
//     though the machine will order them differently.
package apiload
