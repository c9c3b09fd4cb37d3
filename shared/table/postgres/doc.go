// Package postgres keeps a table in a PostgreSQL database, of version 13 or later. It is
// what speaks the protocol best: pgx, whose batches make a transaction two round trips.
//
// Its tables, in a schema of the operator's choice:
//
//	svc_rows     partition, sort -> attributes, see table.EncodeBinary; and expires,
//	             in seconds since 1970, of rows that have it
//	svc_schema   the version of these tables, one row
//
// Keys are bytea, so that they are compared as bytes, whatever the database's collation.
//
// What must stay true:
//
//   - Every read and every transaction is serializable. What PostgreSQL cannot put in an
//     order is done again from its beginning, and is ErrBusy when that does not help.
//   - A transaction takes two round trips at most: what its conditions look at, then what
//     it writes, with the COMMIT. What has no conditions takes one.
//   - Only the primary is asked: connections to a server that only reads are given up.
//   - When the connection ends before the answer to a COMMIT, a transaction is
//     ErrUnknown, and it is not made again. When it ends before that, nothing was
//     written, since a transaction without a COMMIT is none.
//   - Rows expire by the database's clock, which all replicas share, when Tidy is called.
//   - One process at a time makes or changes the tables; a version that is not known is
//     refused, and nothing is changed.
package postgres
