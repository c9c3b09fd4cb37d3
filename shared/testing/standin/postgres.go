package standin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PostgresVariable names the URL of a PostgreSQL that runs already, whose user may make
// schemas.
const PostgresVariable = "SVC_TEST_POSTGRES"

// Postgres is the URL of a PostgreSQL. All tests of a process share it, and so each uses
// a schema of its own.
func Postgres(t testing.TB) (url string) {
	t.Helper()
	if named := os.Getenv(PostgresVariable); named != "" {
		return named
	}
	return postgresURL(found(t, startPostgres))
}

func postgresURL(address string) string {
	return "postgres://svc@" + address + "/postgres?sslmode=disable"
}

var startPostgres = sync.OnceValues(postgres.startFound)

// postgres is a PostgreSQL that makes its cluster first and flushes nothing. It refuses
// to run as root, and is ended in a way in which it gives back its shared memory.
var postgres = program{
	name:    "postgres",
	find:    findPostgres,
	install: "your system's package postgresql",
	prepare: giveToPostgres,
	script:  postgresScript,
	end:     "QUIT",
	args:    func(port, dir string) []string { return []string{port, dir} },
	serves: func(ctx context.Context, address string) bool {
		db, err := pgx.Connect(ctx, postgresURL(address))
		return err == nil && db.Close(ctx) == nil
	},
}

const postgresScript = `set -e
bin=${0%/*} as=
[ "$(id -u)" != 0 ] || as="setpriv --reuid=postgres --regid=postgres --clear-groups"
$as "$bin/initdb" --pgdata "$2" --username svc --auth trust --encoding UTF8 --locale C --no-sync
exec $as "$0" -D "$2" -p "$1" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
  -c max_connections=300 -c shared_buffers=32MB -c fsync=off -c synchronous_commit=off -c full_page_writes=off
`

// findPostgres finds the newest of Debian's, which are not on the PATH, or the one that is
// on it.
func findPostgres() (string, error) {
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(installed) == 0 {
		return exec.LookPath("postgres")
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // what is no number is the oldest
		return n
	}
	return slices.MaxFunc(installed, func(a, b string) int { return version(a) - version(b) }), nil
}

// giveToPostgres gives a directory to the user postgres, if root starts the server.
func giveToPostgres(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, _ := strconv.Atoi(account.Uid) // of a system that has them, numbers
	gid, _ := strconv.Atoi(account.Gid)
	for _, path := range []string{dir, filepath.Join(dir, "data")} {
		if err := os.Chown(path, uid, gid); err != nil {
			return err
		}
	}
	return nil
}
