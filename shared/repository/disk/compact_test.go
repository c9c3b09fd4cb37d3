package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/must"
)

// putAll stores one pack for each text.
func putAll(t *testing.T, o *disk.Objects, texts ...string) {
	t.Helper()
	for _, text := range texts {
		p := encode(t, text)
		must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
		o.Release(p.Name)
	}
}

func numbered(n int) []string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprint("text ", i))
	}
	return texts
}

// TestCompactCrashes lets the disk fail at every step of a compaction and
// looks at what is there then: for a process that was killed, and after a
// loss of power.
func TestCompactCrashes(t *testing.T) {
	texts := numbered(5)
	for step := 0; ; step++ {
		power := newPowered(t)
		o := must.Get(disk.InitIn(power))(t)
		putAll(t, o, texts...)
		power.take()
		power.failFrom = step
		_, err := o.Compact(ctx)
		done := len(power.take()) <= step
		if done && err != nil {
			t.Fatal(err)
		}
		power.failFrom = -1
		for _, after := range []*powered{power, power.crash(t)} {
			reopened := must.Get(disk.OpenIn(after))(t)
			for _, o := range []*disk.Objects{o, reopened} {
				if after != power && o != reopened {
					continue
				}
				for _, text := range texts {
					wantBlob(t, o, text)
				}
			}
			// And it can be done again from there.
			if _, err := reopened.Compact(ctx); err != nil {
				t.Errorf("step %d, then again: %v", step, err)
			}
			for _, text := range texts {
				wantBlob(t, must.Get(disk.OpenIn(after))(t), text)
			}
			// What is left to merge is small beside what was merged, and the
			// removal of the last .keep need not have survived.
			if n := len(reopened.Packs()); n > 2 {
				t.Errorf("step %d, then again: %d packs", step, n)
			}
		}
		if t.Failed() || done {
			t.Logf("%d steps", step)
			return
		}
	}
}

// TestAnIndexThatIsLostIsMadeAgain: git gc deletes one beside which it has not seen the pack.
func TestAnIndexThatIsLostIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	texts := numbered(3)
	putAll(t, o, texts...)
	must.Get(o.Compact(ctx))(t) // so that there are differences
	putAll(t, o, "alone")
	want := map[string][]byte{}
	for _, index := range must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.idx")))(t) {
		want[index] = must.Get(os.ReadFile(index))(t)
		must.Do(t, errors.Join(os.Remove(index), os.Remove(strings.TrimSuffix(index, ".idx")+".keep")))
	}
	reopened := must.Get(disk.Open(dir))(t)
	for _, again := range []func() error{
		func() error { return o.IndexAgain(ctx, false) }, // it may be on its way
		func() error { return o.IndexAgain(ctx, false) },
		func() error { return reopened.IndexAgain(ctx, true) },
	} {
		must.Do(t, again())
	}
	for index, text := range want {
		if got, err := os.ReadFile(index); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %v, of %d bytes, it had %d", index, err, len(got), len(text))
		}
	}
	for _, text := range append(texts, "alone") {
		wantBlob(t, o, text)
		wantBlob(t, reopened, text)
	}
	fsck(t, dir)
}

// TestAnIndexIsMadeAgainOnceTheDiskHasRoom: a failure to write it says nothing of the pack.
func TestAnIndexIsMadeAgainOnceTheDiskHasRoom(t *testing.T) {
	power := newPowered(t)
	o := must.Get(disk.InitIn(power))(t)
	putAll(t, o, "text")
	for _, f := range must.Get(power.ReadDir("objects/pack"))(t) {
		if strings.HasSuffix(f.Name(), ".idx") {
			must.Do(t, power.Remove("objects/pack/"+f.Name()))
		}
	}
	power.fail = "write objects/pack/svc-tmp-idx"
	if err := o.IndexAgain(ctx, true); !errors.Is(err, errFailed) {
		t.Errorf("on a full disk: %v", err)
	}
	power.fail = ""
	must.Report(t, o.IndexAgain(ctx, true))
	wantBlob(t, must.Get(disk.OpenIn(power))(t), "text")
}

func TestCompactLeavesAlone(t *testing.T) {
	for extension, text := range map[string]string{".keep": "mine\n", ".promisor": "", ".mtimes": ""} {
		dir := t.TempDir()
		o := must.Get(disk.Init(dir))(t)
		putAll(t, o, numbered(4)...)
		kept := must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.pack")))(t)[0]
		beside := strings.TrimSuffix(kept, ".pack") + extension
		must.Do(t, os.WriteFile(beside, []byte(text), 0o600))
		long := time.Now().AddDate(-1, 0, 0)
		must.Do(t, os.Chtimes(beside, long, long))
		done := must.Get(o.Compact(ctx))(t)
		if _, err := os.Stat(kept); err != nil || done.Merged != 3 || done.Left != 2 {
			t.Errorf("with a %s: %+v, %v", extension, done, err)
		}
		if _, err := os.Stat(beside); err != nil {
			t.Error(err)
		}
	}
}

func TestCompactSweeps(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	putAll(t, o, "one")
	p := encode(t, "in flight")
	must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
	keep := keeps(t, dir)[0]
	temp := filepath.Join(dir, "objects/pack/svc-tmp-OTHER-pack-LEFT")
	theirs := filepath.Join(dir, "objects/pack/tmp_pack_LEFT")
	orphan := filepath.Join(dir, "objects/pack/pack-"+strings.Repeat("0", 40)+".keep")
	for path, text := range map[string]string{temp: "", theirs: "", orphan: "svc: a commit is being made\n"} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	must.Get(o.Compact(ctx))(t)
	if !there(keep) || !there(temp) || !there(orphan) {
		t.Error("a commit that is being made was disturbed")
	}
	long := time.Now().Add(-48 * time.Hour)
	for _, path := range []string{keep, temp, theirs, orphan} {
		must.Do(t, os.Chtimes(path, long, long))
	}
	must.Get(o.Compact(ctx))(t)
	if !there(keep) || there(temp) || there(orphan) || !there(theirs) {
		t.Errorf("after two days: keep of a commit that is being made %v, temporary %v, keep without a pack %v, somebody else's %v",
			there(keep), there(temp), there(orphan), there(theirs))
	}
	must.Get(disk.Open(dir))(t).Sweep(true)
	if there(keep) {
		t.Error("after a crash the keep of a commit that never landed is still there")
	}
}

// TestSweepRemovesWhatOthersWereWriting, and neither git's files nor those
// that these Objects are writing.
func TestSweepRemovesWhatOthersWereWriting(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	p := encode(t, "in flight")
	must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
	packs := filepath.Join(dir, "objects/pack")
	mine := filepath.Join(packs, o.TempOwner()+"pack-MINE")
	ahead := filepath.Join(packs, "svc-tmp-AHEAD-pack-LEFT")
	gone := []string{filepath.Join(packs, "svc-tmp-OTHER-pack-LEFT"), ahead}
	stay := []string{mine, filepath.Join(packs, "tmp_pack_LEFT"), filepath.Join(packs, "tmp_idx_LEFT"),
		filepath.Join(packs, "pack-"+strings.Repeat("0", 40)+".keep"), keeps(t, dir)[0]}
	for _, path := range slices.Concat(gone, stay[:4]) {
		must.Do(t, os.WriteFile(path, []byte("receive-pack 1 on host"), 0o600))
	}
	future := time.Now().Add(48 * time.Hour)
	must.Do(t, os.Chtimes(ahead, future, future))
	o.Sweep(true)
	for _, path := range gone {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range stay {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestCompactRefusesDamage: a damaged pack is not merged and not deleted.
func TestCompactRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	putAll(t, o, numbered(3)...)
	packs := must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.pack")))(t)
	content := must.Get(os.ReadFile(packs[1]))(t)
	content[len(content)-25] ^= 1
	must.Do(t, os.Chmod(packs[1], 0o600))
	must.Do(t, os.WriteFile(packs[1], content, 0o600))
	if _, err := o.Compact(ctx); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged pack was merged: %v", err)
	}
	left := must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*")))(t)
	if len(left) != 9 {
		t.Errorf("what is left is %q", left)
	}
	// It does not keep the others from being merged for good.
	if done, err := o.Compact(ctx); err != nil || done.Merged != 2 || done.Left != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	left = must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.pack")))(t)
	if len(left) != 2 || !slices.Contains(left, packs[1]) {
		t.Errorf("what is left is %q", left)
	}
}
