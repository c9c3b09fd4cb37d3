package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/table"
)

// Table is a table. It implements table.Table.
type Table struct {
	pool   *pgxpool.Pool
	schema string
	rows   string // the name of its table, in SQL
}

// Open is about the tables in a schema of the database that a URL names. It connects when
// something is asked. Options change how it connects.
func Open(url, schema string, options ...func(*pgxpool.Config)) (*Table, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err // pgx leaves out the password
	}
	// No statement is kept on a connection, as a pooler between would lose it, and
	// connections are not tried before they are used, as all that fails is done again.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	for _, change := range options {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, err
	}
	return (&Table{pool: pool}).In(schema), nil
}

// In returns the table in another schema of the same database.
func (t *Table) In(schema string) *Table {
	return &Table{t.pool, schema, pgx.Identifier{schema, "svc_rows"}.Sanitize()}
}

// Close ends its connections.
func (t *Table) Close() { t.pool.Close() }

const (
	// perAttempt bounds one attempt.
	perAttempt = 5 * time.Second
	// maxAttempts is how often something is tried.
	maxAttempts = 10
)

// pause is waited for after an attempt that others, or the connection, made fail.
var pause = backoff.Backoff{First: 5 * time.Millisecond, Max: 500 * time.Millisecond}

// failed is that the database refused a statement, or could not be asked.
type failed struct {
	error
	open bool // it may have been carried out all the same
}

func (f failed) Unwrap() error { return f.error }

// isWorthRepeating reports whether the same may succeed later: what came in others' way,
// a server that is stopping, starting or full, or one that has become a standby, and
// everything about the connection.
func (f failed) isWorthRepeating() bool {
	said, answered := errors.AsType[*pgconn.PgError](f.error)
	if !answered || len(said.Code) != 5 {
		return true
	}
	switch said.Code[:2] {
	case "08", "40", "53", "55", "57":
		return true
	}
	return said.Code == "25006" // a standby reads only
}

// try does something, as often as it takes. What may have been carried out is done again
// only if twice is as good as once.
func (t *Table) try(ctx context.Context, twice bool, do func(context.Context, *pgx.Conn) error) error {
	for attempt := range maxAttempts {
		err := t.once(ctx, do)
		f, isOurs := errors.AsType[failed](err)
		switch {
		case !isOurs:
			return err
		case f.open && !twice:
			return fmt.Errorf("%w: %w", table.ErrUnknown, errors.Join(ctx.Err(), err))
		case !f.open && !f.isWorthRepeating():
			return explained(err)
		}
		if attempt == maxAttempts-1 || pause.Wait(ctx, attempt) != nil {
			return fmt.Errorf("%w: %w", table.ErrBusy, errors.Join(ctx.Err(), err))
		}
	}
	panic("unreachable")
}

// explained adds what would be right.
func explained(err error) error {
	if said, answered := errors.AsType[*pgconn.PgError](err); answered && said.Code == noSuchTable {
		return fmt.Errorf("the database has not been migrated: %w", err)
	}
	return err
}

func (t *Table) once(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	bounded, cancel := context.WithTimeout(ctx, perAttempt)
	defer cancel()
	conn, err := t.pool.Acquire(bounded)
	if err != nil {
		return failed{err, false}
	}
	defer conn.Release()
	err = do(bounded, conn.Conn())
	switch c := conn.Conn().PgConn(); {
	case c.IsClosed():
		t.pool.Reset() // the others have probably ended as well
	case c.TxStatus() != 'I':
		_, _ = conn.Exec(bounded, "ROLLBACK") // or else the connection is given up
	}
	return err
}

// steps are statements that are sent together, in one round trip.
type steps struct{ batch pgx.Batch }

func (s *steps) add(sql string, arguments ...any) { s.batch.Queue(sql, arguments...) }

// begin begins a transaction. PostgreSQL guards what a plan has looked at, which in a
// small table would be all of it.
func (s *steps) begin(mode string) {
	s.add("BEGIN ISOLATION LEVEL SERIALIZABLE" + mode)
	s.add("SET LOCAL enable_seqscan = off")
}

func (s *steps) commit() { s.add("COMMIT") }

var errRolledBack = errors.New("the transaction was rolled back")

// send sends the steps, reads what any of them has found, and returns how many rows were
// touched.
func (s *steps) send(ctx context.Context, conn *pgx.Conn, read func(pgx.Rows) error) (touched int64, err error) {
	commits := false
	results := conn.SendBatch(ctx, &s.batch)
	defer results.Close() //nolint:errcheck // each has been asked
	for _, q := range s.batch.QueuedQueries {
		commits = commits || q.SQL == "COMMIT"
	}
	for _, q := range s.batch.QueuedQueries {
		rows, err := results.Query()
		for err == nil && rows.Next() {
			err = read(rows)
		}
		if rows != nil {
			rows.Close()
			err = errors.Join(err, rows.Err())
		}
		if err == nil && q.SQL == "COMMIT" && rows.CommandTag().String() != "COMMIT" {
			err = errRolledBack
			return 0, failed{err, false}
		}
		if err != nil {
			return 0, failed{err, commits && mayHaveCommitted(err, q.SQL == "COMMIT")}
		}
		if q.SQL != "COMMIT" {
			touched += rows.CommandTag().RowsAffected()
		}
	}
	return touched, nil
}

// mayHaveCommitted reports whether a transaction may have been committed, although there
// is an error in the place of a statement's answer. That of an earlier statement than the
// COMMIT keeps it from being carried out.
func mayHaveCommitted(err error, atCommit bool) bool {
	said, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case !answered:
		return !pgconn.SafeToRetry(err)
	case !atCommit:
		return false
	case len(said.Code) != 5 || said.Code == "40003":
		return true
	}
	return said.Code[:2] != "40" && said.Code[:2] != "23"
}
