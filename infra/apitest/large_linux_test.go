package apitest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tabledynamo "svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/telemetry"
	telemetryrows "svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
)

// residentAtMost follows a process to its end, and returns the most kilobytes that it had
// resident. What the system tells of a child that has ended includes the memory of its
// parent.
func residentAtMost(pid int) (most int64) {
	for ; ; time.Sleep(2 * time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, after, found := strings.Cut(string(text), "VmHWM:")
		var now int64
		if _, unread := fmt.Sscan(after, &now); err != nil || !found || unread != nil {
			return most
		}
		if link, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); strings.HasSuffix(link, "svcadmin") {
			most = now
		}
	}
}

// program is svcadmin as it is shipped.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "svcadmin")
	if out, err := exec.Command("go", "build", "-o", path, "../svcadmin").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestLargeBackups: of many documents and much telemetry svcadmin holds little in memory.
func TestLargeBackups(t *testing.T) {
	testenv.Program(t, "install Go", "go")
	documents, contexts, most := 300, 3_000, int64(100)
	if full() {
		documents, contexts, most = 10_000, 100_000, 150
	}
	files := map[string]string{"svc.json": `{"environments": ["production"]}`}
	for i := range documents {
		key := fmt.Sprintf("flag-%05d", i)
		files["feature-flags/"+key+".json"] = fmt.Sprintf(`{"key": %q, "type": "feature_flag", "valueType": "bool", "tags": [], "description": %q, "default": {"rules": []}, "environments": [], "variants": [{"value": {"type": "bool", "value": false}}, {"value": {"type": "bool", "value": true}}]}`, key, strings.Repeat(key, 30))
	}
	d := &drill{T: t, service: create(t, files, 1), dir: t.TempDir()}
	d.operator()
	store := telemetryrows.New(tabledynamo.New(standin.DynamoDBClient(t), d.Table), 0)
	now := time.Now().UTC().Truncate(time.Millisecond)
	const perBatch = 500
	for first := 0; first < contexts; first += perBatch {
		b := telemetry.Batch{ID: [32]byte{byte(first), byte(first >> 8), byte(first >> 16)}, Received: now.Add(-time.Duration(first/perBatch) * time.Hour)}
		for i := first; i < first+perBatch; i++ {
			b.Contexts = append(b.Contexts, telemetry.Saved{Environment: "production", Type: "user", Key: fmt.Sprint("user-", i), LastSeen: now.Add(-time.Duration(i) * time.Second),
				Properties: []telemetry.Property{{Name: "plan", Kind: telemetry.String, Text: strings.Repeat("x", 100)}}})
			b.Pairs = append(b.Pairs, telemetry.Pair{Month: telemetry.MonthOf(now), Type: "user", Key: fmt.Sprint("user-", i)})
		}
		must.Get(store.Record(background(t), d.workspace.ID, b))(t)
	}
	svcadmin, dir := program(t), t.TempDir()
	run := func(table, bucket string, args ...string) {
		t.Helper()
		began := time.Now()
		var said bytes.Buffer
		cmd := exec.Command(svcadmin, args...)
		cmd.Dir, cmd.Stderr = dir, &said
		cmd.Env = append(os.Environ(), "SVC_TABLE="+table, "SVC_BUCKET="+bucket, "AWS_ENDPOINT_URL_DYNAMODB="+d.DynamoDB, "AWS_ENDPOINT_URL_S3="+d.S3, "TMPDIR="+dir, "SVC_WORKSPACE="+d.workspace.ID)
		must.Do(t, cmd.Start())
		measured := make(chan int64, 1)
		go func() { measured <- residentAtMost(cmd.Process.Pid) }()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, &said)
		}
		resident := <-measured >> 10
		t.Logf("svcadmin %s: %d ms, %d MB resident at most: %s", args[0], time.Since(began).Milliseconds(), resident, strings.TrimSpace(said.String()))
		if resident > most {
			t.Errorf("svcadmin %s held %d MB, at most %d are allowed", args[0], resident, most)
		}
	}
	run(d.Table, d.Bucket, "backup", "large.tar")
	info := must.Get(os.Stat(filepath.Join(dir, "large.tar")))(t)
	t.Logf("the archive has %d MB", info.Size()>>20)
	table := d.otherTable(false)
	run(table, standin.Bucket(t, standin.S3Client(t)), "restore", "large.tar")
	was := must.Get(store.Usage(background(t), d.workspace.ID, telemetry.MonthOf(now)))(t)
	is, err := telemetryrows.New(tabledynamo.New(standin.DynamoDBClient(t), table), 0).Usage(background(t), d.workspace.ID, telemetry.MonthOf(now))
	if err != nil || is.Keys != was.Keys || is.Keys != contexts {
		t.Errorf("%d keys of %d are counted, %v", is.Keys, was.Keys, err)
	}
}
