package lifeline

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStopAsksTheProgramToEndAndCleansUp(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	p, err := Start(Program{
		Args:   []string{"sh", "-c", `trap 'echo asked to end; exit 3' TERM; echo ready > ready; while :; do sleep 0.05; done`},
		Dir:    dir,
		Env:    append(os.Environ(), "MARK=cleaned"),
		Output: &out,
		Grace:  time.Minute,
		Clean:  `echo "$MARK" > cleaned`,
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	p.Stop()
	if p.Err() == nil || !strings.Contains(p.Err().Error(), "status 3") || out.String() != "asked to end\n" {
		t.Errorf("%v, output %q", p.Err(), &out)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "cleaned")); string(text) != "cleaned\n" {
		t.Errorf("nothing was cleaned up: %q", text)
	}
}

func TestAProgramThatDoesNotEndIsKilled(t *testing.T) {
	dir := t.TempDir()
	p, err := Start(Program{Args: []string{"sh", "-c", `trap '' TERM; echo ready > ready; while :; do sleep 0.05; done`}, Dir: dir, Env: os.Environ(), Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	p.Stop()
	if p.Err() == nil || !strings.Contains(p.Err().Error(), "137") {
		t.Errorf("it ended with %v", p.Err())
	}
}

func TestAProgramThatEndsByItselfIsCleanedUp(t *testing.T) {
	dir := t.TempDir()
	p, err := Start(Program{Args: []string{"true"}, Dir: dir, Env: os.Environ(), Clean: "echo > cleaned"})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Ended()
	if _, err := os.Stat(filepath.Join(dir, "cleaned")); err != nil || p.Err() != nil {
		t.Error(err, p.Err())
	}
	p.Stop()
}

// TestNothingOutlivesItsProcess kills a process that has started a program.
func TestNothingOutlivesItsProcess(t *testing.T) {
	if dir := os.Getenv("LIFELINE_CHILD"); dir != "" {
		// Nobody reads what it writes then, and that must not end it.
		if _, err := Start(Program{Args: []string{"sh", "-c", `trap 'echo ending; echo > asked; exit 1' TERM; echo > started; while :; do sleep 0.05; done`}, Dir: dir, Env: os.Environ(),
			Output: io.Discard, Grace: time.Minute, Clean: "echo > cleaned"}); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool { _, err := os.Stat(filepath.Join(dir, "started")); return err == nil })
		os.Stdout.WriteString("started\n")
		select {}
	}
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestNothingOutlivesItsProcess$")
	child.Env = append(os.Environ(), "LIFELINE_CHILD="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewScanner(out).Scan()
	child.Process.Kill() //nolint:errcheck // waited for below
	child.Wait()         //nolint:errcheck // it was killed
	await(t, func() bool { _, err := os.Stat(filepath.Join(dir, "cleaned")); return err == nil })
	if _, err := os.Stat(filepath.Join(dir, "asked")); err != nil {
		t.Errorf("it was not asked to end, or could not: %v", err)
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen")
		}
	}
}
