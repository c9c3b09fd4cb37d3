// Package control is what the control plane does: it authenticates a request,
// reads what it asks for, and for a write decides, edits, validates, verifies and
// commits, again from fresh state when another writer was first.
//
// A Service serves every workspace; a Session is one request on one of them, at
// the head that the request found when it was authenticated. Every error is, or
// wraps, a fault.Fault; fault.Of turns one into an answer.
//
// A write is an operation that turns an item's document into another: none into
// the first, one into none. All go down one list of steps (decide.go), so that their refusals
// come in one order: 402 where the session is opened, and again with each try
// (authenticate.go), what is wrong with the request by itself, what does
// not exist, who may not, what has changed meanwhile, what the document would
// be, what the workspace would be. A write that would change nothing ends
// before the last two. Writes are carried out by a batch (batch.go): a single write
// is alone in it, a change set has many. Each goes down the list on what those before
// it have made, but for the last step, which asks once what the workspace would be
// after all of them (verify.go). A PATCH that is refused for what is wrong with it by
// itself is told in the same answer what the stored item has against it.
//
// What must stay true:
//
//   - Compare-and-set is on content. A token is good as long as the file's
//     bytes are those of the token's commit, however far the head has moved.
//   - A commit that lost the race for the head is tried again from
//     authentication on: key, permission and content are all looked at again.
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
//   - What is evaluated is compiled once for each commit and environment, so that
//     an evaluation reads no more than any other read. It changes nothing.
//   - A batch is one commit or none. Each of its writes needs the permission that it
//     needs alone, after those before it; a token is compared with the item as it was
//     before the batch.
//   - What a batch decodes and makes, reads of the history, and holds against schemas
//     is bounded for all of its writes together. Of all items but one it keeps the
//     text alone.
//   - Under an Idempotency-Key a request is carried out once in 24 hours. Its answer is
//     made before its commit and kept with it: what has landed is found in the read
//     that authenticates, and is told again byte for byte, whatever would be decided by
//     now. The two commits that the answer names are filled in when it is told. Who may
//     send the request may hear its answer, whatever their roles are by now. A refusal
//     and what changed nothing leave no trace. Time is the ledger's own, where it has
//     one, and nothing is deleted by it.
//   - A dry run goes down the same steps and stops where the commit would be. Its
//     impact compares what is served now with what would be then (impact.go), for
//     whatever documents a write replaces; it takes less than 2 s, and says when it
//     had to leave contexts out.
//   - What a request is told never holds the content of a secret value.
//   - What an instance remembers (the decoded documents of a head, messages it
//     has worked out) only saves time. A Session never changes what another
//     one reads.
package control
