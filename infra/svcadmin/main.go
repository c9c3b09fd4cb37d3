// Command svcadmin looks after a hosted service: its workspaces, keys and
// environments, and what is stored of them in DynamoDB and S3.
package main

import (
	"svc.example/svc/infra/command"
	"svc.example/svc/shared/cli"
)

func main() { cli.Program(command.Main) }
