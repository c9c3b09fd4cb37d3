package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/testing/freeport"
)

// terminalPair opens a pseudo-terminal: what is written to tty is read from screen.
func terminalPair(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	ioctl := func(request uintptr, value *uint32) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Skipf("no pseudo-terminal here: %v", errno)
		}
	}
	var locked, number uint32
	ioctl(syscall.TIOCSPTLCK, &locked)
	ioctl(syscall.TIOCGPTN, &number)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

// TestATerminalIsShownTheFirstKey, and nothing keeps it.
func TestATerminalIsShownTheFirstKey(t *testing.T) {
	screen, tty := terminalPair(t)
	dir := t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	var shown strings.Builder
	go func() {
		defer stop()
		buffer := make([]byte, 4096)
		for !strings.Contains(shown.String(), "/v1/flags") {
			n, err := screen.Read(buffer)
			if err != nil {
				return
			}
			shown.Write(buffer[:n])
		}
	}()
	Main(ctx, []string{"api", "--port", freeport.Take()}, cli.Caller{Stdout: tty, Stderr: os.Stderr, Getenv: func(string) string { return "" }, Workdir: dir})
	<-ctx.Done()
	if !regexp.MustCompile(`(?m)^Key          svc_uk_\w+\r?$`).MatchString(shown.String()) {
		t.Errorf("shown: %q", shown.String())
	}
	if _, err := os.Stat(filepath.Join(dir, defaultData, "first.key")); err == nil {
		t.Error("the key lies in a file")
	}
}
