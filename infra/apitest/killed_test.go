package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
)

// program is svcadmin as it is shipped.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "svcadmin")
	if out, err := exec.Command("go", "build", "-o", path, "../svcadmin").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// started is svcadmin in a process of its own, in a folder with nothing but the archive.
func (d *drill) started(svcadmin, table, bucket, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	d.Helper()
	var said bytes.Buffer
	cmd := exec.Command(svcadmin, args...)
	cmd.Dir, cmd.Stderr = dir, &said
	cmd.Env = append(os.Environ(), "SVC_TABLE="+table, "SVC_BUCKET="+bucket, "AWS_ENDPOINT_URL_DYNAMODB="+d.DynamoDB, "AWS_ENDPOINT_URL_S3="+d.S3, "TMPDIR="+dir, "SVC_WORKSPACE="+d.workspace.ID)
	must(d, cmd.Start())
	return cmd, &said
}

// TestKilledRestores: svcadmin restore that is killed at any moment leaves what nobody is
// served from, and is repeated. A backup that is killed leaves no file of its name.
func TestKilledRestores(t *testing.T) {
	testenv.Program(t, "install Go", "go")
	d := newDrill(t)
	for i := range 40 {
		d.make(fmt.Sprint("flag-", i))
	}
	d.admin("backup", "acme.tar")
	svcadmin := program(t)
	dir := t.TempDir()
	content, err := os.ReadFile(filepath.Join(d.dir, "acme.tar"))
	must(t, err)
	put(t, filepath.Join(dir, "acme.tar"), content)
	run := func(table, bucket string) time.Duration {
		began := time.Now()
		cmd, said := d.started(svcadmin, table, bucket, dir, "restore", "acme.tar")
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		return time.Since(began)
	}
	table, bucket := d.otherTable(false), standin.Bucket(t, standin.S3Client(t))
	run(table, bucket) // which is slower than those after it
	table = d.otherTable(false)
	takes := run(table, bucket)
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	key, err := access.ParseKey(d.key)
	must(t, err)
	killed, whole := 0, 1
	table = d.otherTable(false)
	for range rounds {
		cmd, _ := d.started(svcadmin, table, bucket, dir, "restore", "acme.tar")
		time.Sleep(time.Duration(rand.Int64N(int64(takes))))
		must(t, cmd.Process.Kill())
		where := dynamo.New(standin.DynamoDBClient(t), table)
		_, refused := where.Authenticate(background(t), key, "")
		switch err := cmd.Wait(); {
		case refused == nil: // it was faster, or did not live to say that it had ended
			d.Table, d.Bucket = table, bucket
			d.want(d.key, "GET", "/v1/flags/flag-39", "", 200)
			d.admin("fsck")
			table, whole = d.otherTable(false), whole+1
			continue
		case err == nil:
			t.Fatalf("it has ended, and a key is answered %v", refused)
		}
		killed++
		if ids, err := where.WorkspaceIDs(background(t)); err != nil || len(ids) > 0 {
			t.Fatalf("there is %v, %v", ids, err)
		}
		if !errors.Is(refused, repository.ErrNewer) && !errors.Is(refused, access.ErrNotFound) {
			t.Fatalf("a key is answered %v", refused)
		}
	}
	t.Logf("a restore takes %d ms; %d of %d were killed, and %d came to their end", takes.Milliseconds(), killed, rounds, whole)
	run(table, bucket)
	d.Table, d.Bucket = table, bucket
	d.want(d.key, "GET", "/v1/flags/flag-39", "", 200)
	d.whole(d.key)
	for range rounds {
		cmd, _ := d.started(svcadmin, table, bucket, dir, "backup", "killed.tar")
		time.Sleep(time.Duration(rand.Int64N(int64(takes) / 2)))
		must(t, cmd.Process.Kill())
		if cmd.Wait() == nil {
			break
		}
		if _, err := os.Stat(filepath.Join(dir, "killed.tar")); !errors.Is(err, fs.ErrNotExist) {
			cmd, said := d.started(svcadmin, d.otherTable(false), standin.Bucket(t, standin.S3Client(t)), dir, "restore", "killed.tar")
			if err := cmd.Wait(); err != nil {
				t.Fatalf("a backup that was killed has its name, and is none: %s", said)
			}
			break
		}
	}
}

// TestInterruptedRestores: Ctrl-C ends one with a message, and leaves no files.
func TestInterruptedRestores(t *testing.T) {
	testenv.Program(t, "install Go", "go")
	d := newDrill(t)
	svcadmin := program(t)
	dir := t.TempDir()
	content, err := os.ReadFile(filepath.Join(d.dir, "acme.tar"))
	must(t, err)
	pipe, feed, err := os.Pipe()
	must(t, err)
	var said bytes.Buffer
	cmd := exec.Command(svcadmin, "restore", "-")
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, pipe, &said
	cmd.Env = append(os.Environ(), "SVC_TABLE="+d.otherTable(false), "SVC_BUCKET="+d.Bucket, "TMPDIR="+dir, "AWS_ENDPOINT_URL_DYNAMODB="+d.DynamoDB, "AWS_ENDPOINT_URL_S3="+d.S3)
	must(t, cmd.Start())
	_, err = feed.Write(content[:len(content)/2])
	must(t, err)
	for ctx, cancel := context.WithTimeout(background(t), time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(dir, "svc-restore-*", "registry.json")); len(found) > 0 {
			cancel()
			break
		}
		must(t, ctx.Err())
	}
	must(t, cmd.Process.Signal(os.Interrupt))
	_, err = feed.Write(content[len(content)/2:])
	must(t, errors.Join(err, feed.Close()))
	failed := cmd.Wait()
	left, err := os.ReadDir(dir)
	if cmd.ProcessState.ExitCode() != 1 || err != nil || len(left) > 0 || !strings.Contains(said.String(), "canceled") {
		t.Errorf("%v, %v, %v: %s", failed, left, err, &said)
	}
}
