package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/table/postgres"
	"svc.example/svc/shared/testing/faultproxy"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// sql sends statements.
func sql(t *testing.T, statement string) {
	t.Helper()
	db := must.Get(pgx.Connect(t.Context(), standin.Postgres(t)))(t)
	defer db.Close(context.Background()) //nolint:errcheck // it has answered
	must.Get(db.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol))(t)
}

// newSchema makes a schema with nothing in it.
func newSchema(t *testing.T) string {
	t.Helper()
	name := standin.Name()
	sql(t, fmt.Sprintf("CREATE SCHEMA %q", name))
	return name
}

func open(t *testing.T, schema string, options ...func(*pgxpool.Config)) *postgres.Table {
	t.Helper()
	db := must.Get(postgres.Open(standin.Postgres(t), schema, options...))(t)
	t.Cleanup(db.Close)
	return db
}

func migrated(t *testing.T, options ...func(*pgxpool.Config)) *postgres.Table {
	t.Helper()
	db := open(t, newSchema(t), options...)
	must.Do(t, db.Migrate(t.Context()))
	return db
}

func put(sort string) table.Write {
	return table.Write{Key: table.Key{Partition: "p", Sort: sort}, Put: table.Attributes{"v": table.Text(sort)}}
}

func sorts(t *testing.T, db table.Table) (found []string) {
	t.Helper()
	must.Do(t, db.Query(t.Context(), table.Query{Partition: "p"}, func(row table.Row) (bool, error) { found = append(found, row.Sort); return true, nil }))
	return found
}

// turns counts how often a connection is read from after it was written to.
type turns struct {
	net.Conn
	mu    *sync.Mutex
	count *int
	wrote bool
}

func (c *turns) Write(b []byte) (int, error) {
	c.mu.Lock()
	if !c.wrote {
		c.wrote = true
		*c.count++
	}
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *turns) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	c.wrote = c.wrote && n == 0
	c.mu.Unlock()
	return n, err
}

func TestRoundTrips(t *testing.T) {
	var mu sync.Mutex
	count := 0
	db := migrated(t, func(c *pgxpool.Config) {
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &turns{Conn: conn, mu: &mu, count: &count}, err
		}
	})
	var many, conditional []table.Write
	for i := range table.MaxWrites {
		w := put(fmt.Sprint(i))
		many = append(many, w)
		w.If = []table.Condition{table.Is("v", table.Text(w.Sort))}
		conditional = append(conditional, w)
	}
	keys := []table.Key{many[0].Key, many[1].Key}
	refused := put("0")
	refused.If = []table.Condition{table.NoRow()}
	for _, test := range []struct {
		name string
		most int
		do   func() error
	}{
		{"without conditions", 1, func() error { return db.Transact(t.Context(), many...) }},
		{"with conditions", 2, func() error { return db.Transact(t.Context(), conditional...) }},
		{"refused", 2, func() error {
			if err := db.Transact(t.Context(), refused); !errors.Is(err, table.ErrRefused) {
				return fmt.Errorf("it is not refused: %w", err)
			}
			return nil
		}},
		{"updated", 2, func() error {
			_, err := db.Update(t.Context(), table.Write{Key: keys[0], Add: map[string]int64{"n": 1}})
			return err
		}},
		{"in a batch", 1, func() error { return db.Batch(t.Context(), many) }},
		{"by keys", 1, func() error { _, err := db.Get(t.Context(), keys); return err }},
		{"a partition", 1, func() error {
			return db.Query(t.Context(), table.Query{Partition: "p"}, func(table.Row) (bool, error) { return true, nil })
		}},
	} {
		mu.Lock()
		count = 0
		mu.Unlock()
		if err := test.do(); err != nil || count > test.most {
			t.Errorf("%s: %d round trips, at most %d; %v", test.name, count, test.most, err)
		}
	}
}

// TestCutConnections: wherever a connection ends, it is known how a transaction ended, or
// it is said that it is not. What may be made twice is made.
func TestCutConnections(t *testing.T) {
	cable := must.Get(faultproxy.StartCable(must.Get(url.Parse(standin.Postgres(t)))(t).Host))(t)
	defer cable.Close() //nolint:errcheck // it has done its job
	db := migrated(t, func(c *pgxpool.Config) {
		c.MaxConns = 1
		c.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, cable.Address())
		}
	})
	direct := map[string]func(i int) error{
		"transact": func(i int) error {
			w := put(fmt.Sprintf("%05d", i))
			w.If = []table.Condition{table.NoRow()}
			return db.Transact(t.Context(), w, table.Write{Key: table.Key{Partition: "n", Sort: "n"}, Add: map[string]int64{"n": 1}})
		},
		"batch": func(i int) error { return db.Batch(t.Context(), []table.Write{put(fmt.Sprintf("%05d", i))}) },
		"get":   func(int) error { _, err := db.Get(t.Context(), []table.Key{put("x").Key}); return err },
	}
	i, landed, unknown := 0, int64(0), 0
	for _, name := range []string{"transact", "batch", "get"} {
		for _, direction := range []int{faultproxy.ToServer, faultproxy.ToClient} {
			cable.Cut(direction, -1)
			i++
			must.Do(t, direct[name](i))
			if name == "transact" {
				landed++
			}
			bytes := cable.Passed(direction)
			for after := 0; after < bytes; after += 7 {
				must.Get(db.Get(t.Context(), []table.Key{put("x").Key}))(t) // connected
				cable.Cut(direction, after)
				i++
				err := direct[name](i)
				cable.Cut(direction, -1)
				is := slices.Contains(sorts(t, db), fmt.Sprintf("%05d", i))
				switch {
				case name == "transact" && errors.Is(err, table.ErrUnknown):
					unknown++
				case err != nil:
					t.Fatalf("%s, cut after %d of %d: %v", name, after, bytes, err)
				case name != "get" && !is:
					t.Fatalf("%s, cut after %d of %d: it is said to be done, and is not", name, after, bytes)
				}
				if is && name == "transact" {
					landed++
				}
			}
		}
	}
	rows := must.Get(db.Get(t.Context(), []table.Key{{Partition: "n", Sort: "n"}}))(t)
	if n := rows[0].Number("n"); n != landed || unknown == 0 {
		t.Errorf("%d transactions are counted and %d have landed; of %d it was not known", n, landed, unknown)
	}
}

func TestMigrate(t *testing.T) {
	schema := newSchema(t)
	var group errgroup.Group
	for range 8 {
		db := open(t, schema)
		group.Go(func() error { return db.Migrate(t.Context()) })
	}
	must.Do(t, group.Wait())
	db := open(t, schema)
	must.Do(t, db.Transact(t.Context(), put("a")))
	must.Do(t, db.Migrate(t.Context()))
	if got := sorts(t, db); len(got) != 1 {
		t.Errorf("a second migration leaves %q", got)
	}
	sql(t, fmt.Sprintf(`UPDATE %q.svc_schema SET version = 99`, schema))
	err := db.Migrate(t.Context())
	if !errors.Is(err, postgres.ErrNewer) || !strings.Contains(err.Error(), "are of version 99, and this svc knows versions up to 1") {
		t.Errorf("a newer one: %v", err)
	}
	err = open(t, newSchema(t)).Transact(t.Context(), put("a"))
	if err == nil || errors.Is(err, table.ErrBusy) || !strings.Contains(err.Error(), "has not been migrated") {
		t.Errorf("none: %v", err)
	}
}

// TestTidy goes by the database's clock, and leaves what has no time, or another type of it.
func TestTidy(t *testing.T) {
	db := migrated(t)
	var writes []table.Write
	for i := range 1500 {
		w := put(fmt.Sprint("over", i))
		w.Put[table.Expires] = table.Until(time.Now().Add(-time.Hour))
		writes = append(writes, w)
	}
	later, text := put("later"), put("text")
	later.Put[table.Expires] = table.Until(time.Now().Add(time.Hour))
	text.Put[table.Expires] = table.Text("1")
	must.Do(t, db.Batch(t.Context(), append(writes, later, text, put("never"))))
	renewed := table.Write{Key: writes[0].Key, Set: table.Attributes{table.Expires: table.Until(time.Now().Add(time.Hour))}}
	must.Get(db.Update(t.Context(), renewed))(t)
	n, err := db.Tidy(t.Context())
	if got, want := sorts(t, db), []string{"later", "never", "over0", "text"}; err != nil || n != 1499 || !slices.Equal(got, want) {
		t.Errorf("%d are removed, %q are left, want %q; %v", n, got, want, err)
	}
}

// TestADatabaseThatIsAway is busy, and one that refuses the user is not.
func TestADatabaseThatIsAway(t *testing.T) {
	db := must.Get(postgres.Open("postgres://svc@127.0.0.1:1/svc?sslmode=disable", "public"))(t)
	defer db.Close()
	if err := db.Transact(t.Context(), put("a")); !errors.Is(err, table.ErrBusy) || errors.Is(err, table.ErrUnknown) {
		t.Errorf("away: %v", err)
	}
	nobody := open(t, "public", func(c *pgxpool.Config) { c.ConnConfig.User = "nobody" })
	if _, err := nobody.Get(t.Context(), []table.Key{put("a").Key}); err == nil || errors.Is(err, table.ErrBusy) {
		t.Errorf("refused: %v", err)
	}
}
