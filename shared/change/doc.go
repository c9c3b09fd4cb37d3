// Package change carries requests to change a workspace out: it checks a request, plans
// what it comes to, and commits the plan.
//
// A write is an operation that turns an item's document into another: none into
// the first, one into none. A request has one, or many that become one commit or none (a
// change set). A batch (batch.go) decides its writes one after the other, each on what
// those before it have made, and makes a plan of them, without changing anything: what
// each leads to, what the commit has, and why writes are refused. A dry run shows the
// plan (masked.go, impact.go); else it is committed (carryout.go), and where another
// writer was first, all begins again with reading the key.
//
// All writes go down one list of steps (decide.go), so that their refusals come in one
// order: 402 where the state is read, what is wrong with the request by itself, what does
// not exist, who may not, what has changed meanwhile, what the document would be, what
// the workspace would be. A write that would change nothing ends before the last two.
// The last one is asked once of what all of them lead to (verify.go).
//
// What must stay true:
//
//   - Compare-and-set is on content. A token is good as long as the file's
//     bytes are those of the token's commit, however far the head has moved.
//   - A commit that lost the race for the head is tried again from
//     authentication on: key, permission and content are all looked at again.
//   - What waits in a queue is decided again by whoever commits it (intent.go), for the same
//     principal, whose access is as it was, and answered by its owner as it is decided on
//     the same commit. A refusal is told by nobody but its owner, of what has landed.
//   - A write reads nothing of an item's history, but for two cases. A token
//     that is no present commit costs the document at that commit. A rollout
//     where none stands costs a page of the item's history and at most four
//     documents of it: on AWS 3 more requests for a flag that was switched off
//     and on again, and 13 at the most.
//   - What applications would use because of a write (a config to decrypt with,
//     their environment) is authorized with it.
//   - Under a schema that cannot be used no value of a config is written. A PUT that
//     leaves the values and schemaKey as they are passes, so that metadata can still be
//     edited. Under one that is missing values are written with a warning.
//   - Nothing is deleted that another item refers to, and nothing written that
//     refers to what is not there.
//   - An undo takes back what one commit did to an item and nothing else: right
//     after the commit, to the byte.
//   - Where others have to approve changes, a commit is taken back without them by the
//     service account that it has named as its guard when it was made (guard.go), once,
//     and never what needed no approval itself.
//   - Each write of a change set needs the permission that it needs alone, after those
//     before it; a token is compared with the item as it was before all of them. What they
//     decode and make, read of the history, and hold against schemas is bounded for all
//     together. Of all items but one a batch keeps the text alone.
//   - Under an Idempotency-Key a request is carried out once in 24 hours. Its answer is
//     made before its commit and kept with it: what has landed is found in the read
//     that authenticates, and is told again byte for byte, whatever would be decided by
//     now. The two commits that the answer names are filled in when it is told. Who may
//     send the request may hear its answer, whatever their roles are by now. A refusal
//     and what changed nothing leave no trace. Time is the ledger's own, where it has
//     one, and nothing is deleted by it.
//   - The impact of a dry run compares what is served now with what would be then, for
//     whatever documents a write replaces; it takes less than 2 s, and says when it
//     had to leave contexts out.
//   - What a request is told never holds the content of a secret value.
package change
