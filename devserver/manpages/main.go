// Command manpages writes the manual pages of svc, for its packages: one for
// each command, as its --help has it.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"svc.example/svc/devserver/command"
	"svc.example/svc/shared/release"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manpages <folder>")
		os.Exit(2)
	}
	root := command.Tree()
	root.DisableAutoGenTag = true // the same pages from the same source
	header := &doc.GenManHeader{Section: "1", Source: "svc " + release.Name(), Manual: "svc"}
	err := os.MkdirAll(os.Args[1], 0o777)
	if err == nil {
		err = doc.GenManTree(root, header, os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}
