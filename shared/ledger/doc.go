// Package ledger holds nothing itself: its folders hold the ledgers.
//
// A ledger is what a workspace's git objects do not say by themselves: which
// commit is the head, and for every commit of the history what it touched. The
// objects are the truth and the ledger the order in which they came. It has
// three jobs:
//
//   - to move the head by one conditional step, so that of two writers who
//     began at one head exactly one wins and the other is told (Advance);
//   - to answer from rows what git would have to walk for: the history of a
//     path, the commits since a head, the file a past commit held (History,
//     Since, At). The rows can always be rebuilt from the objects;
//   - to keep the workspace's keys, principals and record next to the head, so
//     that one read authenticates a request and a write is refused when any of them
//     changed since (Authenticate, and Head.Access).
//
// The interfaces are repository.Ledger and control.Authenticator. Package ledgertest holds
// every implementation to what they promise; package local is the one over an
// ordinary bare repository on disk, package dynamo the one in a DynamoDB table.
// Package revwalk finds out from the objects what the rows say.
package ledger
