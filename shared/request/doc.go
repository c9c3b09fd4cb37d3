// Package request is change requests: change sets that wait for others to approve them.
//
// Store keeps them in a table; Desk is what people do with them. In a workspace's partition,
// requests/<workspace>, stand:
//
//	count          sequence N, last N, open B (how many each author has open, as JSON)
//	open/<number>  request B, operations B: one that is open
//	done/<number>  the same of one that was applied or closed
//	event/<number> event B: what happened, in the order in which it did
//	once/<id>      request S, answer B, expires N: what a request under an Idempotency-Key was answered
//
// Numbers have ten digits. What is B is JSON, compressed by gzip.
//
// What must stay true:
//
//   - Whatever happens to a request is one transaction, on condition of the count's sequence:
//     the request, the count, and the event that tells of it. So events are in one order, and
//     none is missing; a reader that has seen some asks for those after.
//   - An approval is for a digest: of the operations, of what they touch and reach before
//     and after, of what has to be reviewed. Where that is another one, it does not count.
//   - A request is applied by a commit on the very head that its approvals were counted at,
//     and under the access version that they were counted under. Whatever would make one not
//     count raises that: an approval that is taken back, other operations, a role.
//   - It is applied once: its commit is made under an Idempotency-Key of its own (see package
//     change), which the ledger keeps with the commit. Whoever finds a request that somebody
//     began to apply asks the ledger what became of it.
//   - Nothing of it is deleted. What expires is no longer approved or applied.
package request
