package command

import (
	"github.com/spf13/cobra"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
)

func newSchema(in Invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of flags, configs, log levels and segments",
		Long: `Print the JSON Schema (draft 2020-12) that svc verify and the API check documents
against. Point an editor at it, and it completes and checks files as you type.`,
		Example: `  svc schema > stored-config.json`,
		Args:    cli.Arguments(""),
		RunE: func(*cobra.Command, []string) error {
			_, err := in.Stdout.Write(document.SchemaJSON())
			return err
		},
	}
}
