// Package dynamo keeps the telemetry of many workspaces in a DynamoDB table:
// the one that package ledger/dynamo describes, with keys pk and sk. Its rows
// are
//
//	pk                               sk              what it is
//	telemetry/<ws>/pair/<month>/<h>  pair            a pair of type and key that was counted
//	telemetry/<ws>/usage/<month>     <shard>/<type>  n N: how many of the type's pairs were
//	telemetry/<ws>/context/<h>       context         seen N, digest B: the sighting that is saved
//	telemetry/<ws>/seen/<h>          <seen>/<h>      doc S: the saved context, as JSON
//	telemetry/<ws>/shape             type/<type>     fields S: its properties, as JSON; version N
//	telemetry/<ws>/known             known           groupNames, typeNames SS: what has rows in seen and in shape
//	telemetry/<ws>/batch/<id>        batch           a batch that was applied
//
// <h> is the SHA-256, in hexadecimal, of what the row stands for: month, type
// and key; environment, type and key; or, in the key of seen, environment and
// type. <seen> is in milliseconds and 15 digits.
//
// The attribute expires (a number of seconds) is when a row is of no more use:
// pairs a week after their month, batches a day after they came, contexts
// SavedFor after they were last seen. Switch the table's time to live on for
// it; where it is off, nothing is wrong but the bill.
//
// What must stay true:
//
//   - A pair and its count are written in one transaction, on condition that
//     the pair is new. So each is counted once, whatever else happens; a
//     transaction whose answer got lost is found by who repeats it.
//   - A counter has several shards, one of which each transaction adds to, so
//     that many who count at once do not wait for one another.
//   - A saved context and its place in the order of sightings change in one
//     transaction, on condition of the sighting that was read.
//   - The row of a batch is written when everything else is.
//   - No request scans. A search reads known and one range of each group that
//     can match, MaxSaved rows of it at most.
//
// A batch of which nothing is new costs one BatchGetItem for 100 of its rows
// and a PutItem; new pairs, some 95 in a transaction; sightings, 33 in one.
package dynamo
