package command

import (
	"fmt"
	"strings"
	"testing"
)

func TestLargeFilesNameTheMemoryThatTheyNeed(t *testing.T) {
	for megabytes, want := range map[int]string{0: "", 32: "", 33: "33 MB together", 60: "a MemorySize of 480 or more"} {
		files := map[string][]byte{}
		for i := range megabytes {
			files["configs/"+strings.Repeat("x", i+1)+".json"] = make([]byte, 1<<20)
		}
		if got := strings.Join(sizeNotes(files), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%d MB: %q", megabytes, got)
		}
	}
}

// TestAnEnvironmentThatServesMuchNamesTheMemoryThatItNeeds: its texts may be small
// enough. The environments serve one arm, many, and many of their own.
func TestAnEnvironmentThatServesMuchNamesTheMemoryThatItNeeds(t *testing.T) {
	arms := func(n int) string {
		return fmt.Sprintf(`[{"criteria":[],"value":{"type":"weighted_values","value":{"weightedValues":[%s]}}}]`,
			strings.TrimSuffix(strings.Repeat(`{"value":{"type":"int","value":1},"weight":1},`, n), ","))
	}
	files := map[string][]byte{"svc.json": []byte(`{"environments":["small",{"name":"old","archived":true},"large"]}`)}
	for i := range 33 {
		key := fmt.Sprintf("f%02d", i)
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, `{"key":%q,"id":%q,"type":"feature_flag","valueType":"int","default":{"rules":%s},"environments":[{"id":"old","rules":%s},{"id":"large","rules":%s}]}`,
			key, strings.Repeat("x", 150), arms(1), arms(1), arms(10_000)) // the id is in each answer
	}
	notes := sizeNotes(files)
	if len(notes) != 1 || !strings.Contains(notes[0], `"large" serves takes `) || !strings.Contains(notes[0], "a MemorySize of ") {
		t.Fatalf("%q", notes)
	}
	var bytes, needed int64
	if _, err := fmt.Sscanf(notes[0], `warning: what the environment "large" serves takes %d MB of memory: for it to be polled the functions need a MemorySize of %d or more`, &bytes, &needed); err != nil ||
		bytes <= 64 || bytes > 150 || needed > 4*bytes || needed <= 4*(bytes-1) {
		t.Errorf("%d MB, %d: %v: %q", bytes, needed, err, notes)
	}
}
