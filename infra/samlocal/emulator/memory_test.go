package emulator

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

// TestAnInstanceAboveItsMemoryIsKilled: also when it had too much for a moment
// only, and has given it back before it answers.
func TestAnInstanceAboveItsMemoryIsKilled(t *testing.T) {
	rie, err := Find()
	if errors.Is(err, ErrMissing) {
		testenv.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "bootstrap")
	if out, err := exec.Command("go", "build", "-tags=lambda.norpc", "-o", binary, "./testdata/greedy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pool := NewPool(rie, []Function{{Name: "greedy", Binary: binary, Timeout: 20, Memory: 128}}, 1, io.Discard)
	defer pool.Close()
	take := func(megabytes int) (process string, err error) {
		answer, err := pool.Invoke(t.Context(), "greedy", fmt.Appendf(nil, `{"Megabytes":%d}`, megabytes))
		return string(answer), err
	}
	first, err := take(60)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := take(60); err != nil || again != first {
		t.Errorf("%v: answered by %s and then by %s", err, first, again)
	}
	if _, err := take(200); !errors.Is(err, ErrMemory) {
		t.Errorf("200 MB of 128 MB: %v", err)
	}
	if program, err := strconv.Atoi(first); err != nil || peakOf(program) != 0 {
		t.Errorf("%v: the program %s works on after its event has failed", err, first)
	}
	if fresh, err := take(1); err != nil || fresh == first {
		t.Errorf("%v: the next event is answered by the same instance", err)
	}
	if peak, killed := pool.Memory("greedy"); killed != 1 || peak < 128<<20 {
		t.Errorf("%d instances were killed, %d MB at most", killed, peak>>20)
	}
}
