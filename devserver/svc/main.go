// Command svc serves and checks config directories.
package main

import (
	"svc.example/svc/devserver/command"
	"svc.example/svc/shared/cli"
)

func main() { cli.Program(command.Main) }
