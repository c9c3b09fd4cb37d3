package admin

import (
	"strings"
	"testing"
)

func TestLargeFilesNameTheMemoryThatTheyNeed(t *testing.T) {
	for megabytes, want := range map[int]string{0: "", 32: "", 33: "33 MB together", 60: "a MemorySize of 480 or more"} {
		files := map[string][]byte{}
		for i := range megabytes {
			files["configs/"+strings.Repeat("x", i+1)+".json"] = make([]byte, 1<<20)
		}
		if got := SizeNote(files); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%d MB: %q", megabytes, got)
		}
	}
}
