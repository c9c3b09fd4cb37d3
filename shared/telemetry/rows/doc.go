// Package rows keeps the telemetry of many workspaces in the rows of a table (see package
// table); hosted, in the one that package ledger/dynamo describes. They are
//
//	pk                               sk              what it is
//	telemetry/<ws>/pair/<month>/<h>  pair            a pair of type and key that was counted
//	telemetry/<ws>/usage/<month>     <shard>/<type>  n N: how many of the type's pairs were
//	telemetry/<ws>/usage/<month>     notCounted      n N: how often a pair came whose context was too many
//	telemetry/<ws>/context/<h>       context         seen N, digest B: the version that is saved
//	telemetry/<ws>/seen/<h>          <seen>/<h>      doc S: the saved context, as JSON
//	telemetry/<ws>/shape             type/<type>     fields S: its properties, as JSON; version N
//	telemetry/<ws>/known             contexts/<h>    types S: JSON of the types that have rows in seen, and the hour each was last in a batch; environment S; version N
//	telemetry/<ws>/known             shapes          types S: the same of those that have rows in shape; version N
//	telemetry/<ws>/new/<hour>        new             n, newTypes N: how many contexts and types of context were new in the hour
//	telemetry/<ws>/batch/<id>        batch           a batch that was applied, or a report that came in one
//	telemetry/<ws>/tallies/<part>    <day>/<h>       doc B: the tallies of an eighth of the items on a day, compressed JSON; environment S; version N
//	telemetry/<ws>/evaluated         evaluated       doc B: on which day each item was evaluated last, compressed JSON; version N
//
// <h> is the SHA-256, in hexadecimal, of what the row stands for: month, type
// and key; environment, type and key; or, in the key of seen, environment and
// type, in that of known the environment. <seen> is in milliseconds and 15 digits.
//
// The attribute expires (a number of seconds) is when a row is of no more use:
// pairs a week after their month, batches a day after they came, contexts
// as many days after they were last seen as New says, tallies two months after their day.
//
// What must stay true:
//
//   - A pair and its count are written in one transaction, on condition that
//     the pair is new. So each is counted once, whatever else happens; a
//     transaction whose answer got lost is found by who repeats it.
//   - A counter has several shards, one of which each transaction adds to, so
//     that many who count at once do not wait for one another.
//   - A saved context and its place in the time index change in one
//     transaction, on condition of the version that was read.
//   - What is forgotten goes in a transaction, on condition of the version that was
//     read, so that no place in the time index stays behind.
//   - The row of a batch is written when everything else is, after those of the reports
//     in it.
//   - No request scans; Archive and Remove do, which an operator asks for. A search reads known and one range of each group that
//     can match, those in use last first: MaxSaved rows of each at most, and
//     MaxSearched in all. One for a whole key reads known, and two rows of each such group.
//   - A walk reads known and the range of each group, in pages, none of which is kept.
//   - Evaluations are counted when their batch is remembered, so that one that comes
//     again counts nothing. They are added up in the process, and written to their rows
//     once a minute; at once what the process has not written on that day yet. So
//     10,000 browsers cost what the processes cost that they report to, and on which
//     day an item was evaluated, and with which values, does not wait. With a process
//     that does not Flush end the counts of its last minute.
//   - A row of tallies names the last who wrote it, so that a part whose answer got lost
//     is added once.
//   - In a table that runs such as one transaction, a batch is one, but for what waits of
//     its evaluations. There Trim bounds what is kept of contexts and batches.
//   - A type that makes room for another is no longer searched; its rows go when
//     they expire.
//
// A batch of which nothing is new costs one BatchGetItem for 100 of its rows
// and a PutItem, a BatchWriteItem for 25 reports that a relay passes on in it, and once an
// hour two PutItem more; new pairs, some 95 in a transaction;
// contexts, 33 in one; new contexts and types one UpdateItem together.
package rows
