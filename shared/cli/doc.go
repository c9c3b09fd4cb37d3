// Package cli is what the command lines of svc and svcadmin have in common:
// the process they run in, how a command fails, tables, JSON, progress, and the commands on keys and
// principals, which work on any registry.
//
// What must stay true:
//
//   - Standard output carries what was asked for, standard error everything
//     else: what makes a key prints the key alone on standard output.
//   - The status is 0 for success, 1 for a failure, 2 for a command line that
//     makes no sense.
//   - Progress is for people: only a terminal sees any.
package cli
