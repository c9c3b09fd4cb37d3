// Package webhook tells other programs over HTTP what has changed in a workspace: commits,
// change requests, and what was done to keys, principals and environments.
//
// Where it stands in the history is what is stored for each webhook, and not what is to be
// sent: a commit is its own outbox. Only what was not taken at once has rows, so that others
// can go on. All is in one partition of a table, webhook/<workspace>:
//
//	hook/<id>                doc S: the webhook, with what is sealed
//	hook/<id>/open/<n>       doc S: a delivery that waits, or waits for one before it
//	hook/<id>/parked/<n>     doc S: one that was given up
//	hook/<id>/state          history, audit, request S: up to where; n N: of the next row;
//	                         last S: the latest attempt; turn S, until N: whose turn it is
//	key                      key B: seals addresses and secrets, and keys digests
//	wake                     at N: when a message of the queue comes, hosted
//
// What must stay true:
//
//   - None is lost: a position moves on after what lies before it was taken, or has a row. A
//     process that is killed in between sends it once more, under the same Webhook-Id.
//   - Of an item, what happened first is sent first: what comes later waits for it, and for
//     nothing else. Once it is given up, what comes later says so.
//   - No row, log, audit entry or answer holds a secret or the path of an address in the clear;
//     the key that they are sealed by is in no backup. So a workspace that was restored sends
//     nothing until each webhook has its address and another secret.
//   - What is sent tells what the activity tells everybody who may read: no confidential value.
//     Digests are keyed, so that nobody tries values with them.
//   - The address that is dialled is the one that was checked (see Client).
//   - Rows are bounded: MaxWebhooks, and of each maxWaiting and maxParked deliveries. More than
//     that waits in the history.
package webhook
