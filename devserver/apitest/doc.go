// Package apitest shows that the control plane of svc api keeps what it
// promises when much goes on at once and when things go wrong: many clients,
// a process that is killed, backups of a server at work, a full disk, damage, pushes. It
// holds tests only.
//
// Package apiload is the load, and judges what it saw.
//
// What must stay true:
//
//   - A store that is broken on purpose is caught by the same judges.
//   - Nothing is decided by how long something takes. Every choice comes from
//     a seed, which is logged; SVC_TEST_SEED makes the same choices again,
//     though the machine will order them differently.
//   - The server's code is imported: so a test result that the go command has
//     kept never hides a change of that code.
package apitest
