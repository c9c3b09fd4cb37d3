package command

import (
	"fmt"

	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/heap"
	"svc.example/svc/shared/workspace"
)

// defaultMemorySize is the template's, in MB.
const defaultMemorySize = 256

// largestMemorySize is what Lambda gives a function at most, in MB.
const largestMemorySize = 10_240

// sizeNotes say which MemorySize the functions need to serve files and take writes
// to them, as far as it is more than the template's default. Each environment is
// compiled as it is for those who poll it: it may take many times its texts.
func sizeNotes(files map[string][]byte) []string {
	var notes []string
	note := func(needed int64, format string, args ...any) {
		if needed > defaultMemorySize {
			notes = append(notes, "warning: "+fmt.Sprintf(format, args...))
		}
	}
	sum := int64(0)
	for _, text := range files {
		sum += int64(len(text))
	}
	needed := heap.MemorySizeFor(sum)
	note(needed, "the documents have %d MB together: to serve them and take writes the functions need a MemorySize of %d or more (the template's default is %d)",
		megabytes(sum), needed, defaultMemorySize)
	ws, _ := workspace.Read(files)
	for _, name := range ws.Active() {
		b := delivery.NewBuilder(name)
		b.Max = heap.Table(largestMemorySize << 20)
		for item := range ws.ByKey() {
			b.Add(evaluation.Source{Key: item.Key, Document: item.View})
		}
		if b.Full() {
			note(largestMemorySize, "what the environment %q serves takes more than %d MB of memory: no function has enough for it to be polled; make long lists of arms, rules or words shorter",
				name, b.Max>>20)
			continue
		}
		needed := heap.MemorySizeForTable(b.Size())
		note(needed, "what the environment %q serves takes %d MB of memory: for it to be polled the functions need a MemorySize of %d or more (the template's default is %d)",
			name, megabytes(b.Size()), needed, defaultMemorySize)
	}
	return notes
}

func megabytes(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }
