// Command hungry takes as many megabytes of memory as it is told, and with a
// second argument keeps them.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	megabytes, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	taken := make([]byte, megabytes<<20)
	for i := 0; i < len(taken); i += 4096 {
		taken[i] = 1
	}
	fmt.Printf("took %d MB\n", len(taken)>>20)
	for len(os.Args) > 2 {
		time.Sleep(time.Hour)
	}
}
