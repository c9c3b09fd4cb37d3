// Package bolt keeps a table in one file of a data directory (see package database).
//
// Its buckets:
//
//	rows     partition, NUL, sort key -> the attributes, see table.EncodeBinary
//	clock    day -> the last day on which Tidy was called; time -> the table's own time
//
// Others may keep buckets of their own beside these.
//
// What must stay true:
//
//   - A transaction is one of bbolt's, and so is all that Together runs: all of it is
//     there, or none. A process that is killed at any time leaves what was there before
//     or after it, flushed.
//   - Rows expire by the table's own time, which Tidy moves on by two days at most for
//     each day on which it is called. So no clock that is wrong for a while, and no long
//     stop, removes what is in use.
//   - What Tidy and Wipe leave behind holds nothing of rows that are gone: see
//     database.File.Wipe.
package bolt
