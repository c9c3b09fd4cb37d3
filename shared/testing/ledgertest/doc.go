// Package ledgertest is what every ledger has to pass: tests of what the interfaces
// repository.Ledger and control.Authenticator promise, written against them alone. Only
// tests import it.
//
// What must stay true:
//
//   - Commits are real ones: their objects are handed to the implementation,
//     and their ids are git's. So it runs over stores that look into them.
//   - Nothing in it knows how a ledger stores anything, or waits for time to
//     pass.
//   - Where a touch's object lies (Pack, Offset, Length) is a hint that a
//     ledger may forget, and is not compared. A ledger may keep texts, for
//     Since; those it returns must be the right ones.
package ledgertest
