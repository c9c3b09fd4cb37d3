// Package local keeps a workspace's telemetry in one file of its data
// directory, telemetry.db, a bbolt database.
//
// Buckets, from the outside in:
//
//	<workspace>
//	  batches   id -> when it was received
//	  received  when, id -> nothing; for forgetting
//	  newInHour an hour, and how many keys and types were new in it
//	  newOfSecret  the same of batches that came with secret keys
//	  upkeepDays  a day on which it was looked for contexts of long ago -> nothing
//	  keptDays  how many days contexts were kept then
//	  shapes    type -> JSON of the properties, and the batch it was last in
//	  groups
//	    <environment, type>
//	      lastBatch  the number of the batch that it was last in
//	      keys  key -> JSON of the saved context
//	      seen  when, key -> nothing; for search, and for forgetting
//	  evaluations
//	    <environment>
//	      <day>  item -> JSON of its tally
//	  lastEvaluated  item -> the day on which it was evaluated last; its sequence tells one state from another
//	  evaluatedItems  how many items that has
//	  evaluatedSince  the first day on which anything was counted
//	  months
//	    <month>
//	      counts  type -> number of keys
//	      notCounted  how often a pair came whose context was too many
//	      pairs   type, key (long ones: their SHA-256) -> nothing; gone when the month is closed
//
// Names that are made of several parts have the length before each. A count
// stands beside the bucket that it counts, so that nothing is counted by
// walking.
//
// What must stay true:
//
//   - A batch is one transaction: all of it is there, or none. A process that
//     is killed at any time leaves what was there before or after it, flushed.
//   - The file is open only while it is used, under the lock of the operating
//     system that bbolt takes: several processes may work on it.
//   - Of an environment and type the MaxSaved contexts seen last are kept. Which
//     type makes room for another is decided by the numbers of batches: no clock
//     has a say in it.
//   - What is forgotten, and what has expired, is overwritten in the file too.
//   - A context, and the counts of a day, expire by the days on which it was looked for such, so that no
//     clock that is wrong for a while, and no long stop, deletes what is in use.
//   - A search looks at MaxSearched contexts, however many there are.
//   - When a month is closed its pairs go and its counts stay. It never counts
//     again, also when the clock was wrong.
package local
