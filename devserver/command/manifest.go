package command

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/manifest"
	"svc.example/svc/shared/workspace"
)

func newManifest(in Invocation) *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "manifest",
		Short: "Write the flags as a manifest of the OpenFeature CLI",
		Long: `Write the flags as a manifest of the OpenFeature CLI, which generates typed code
from it: every flag with its type and its default value, which is what its default
rules serve to the empty context.

It reads a config directory or, with --url, the workspace of an API (which needs a
key). That API has no type for floating-point numbers: flags of them are left out
there, and counted on standard error.`,
		Example: `  svc manifest > flags.json && openfeature generate go
  svc manifest --url https://flags.acme.example/v1 --key-file ci.key > flags.json`,
		Args: cli.Arguments("a config directory is named with --datadir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			flags, omitted, err := in.manifest(cmd, f)
			if err != nil {
				return err
			}
			if omitted > 0 {
				fmt.Fprintf(in.Stderr, "left out: %d of a type that manifests do not have\n", omitted)
			}
			file := manifestFile{manifestSchema, map[string]fileFlag{}}
			for _, f := range flags {
				file.Flags[f.Key] = fileFlag{f.DefaultValue, f.Description, f.Type}
			}
			return cli.JSON(in.Stdout, file)
		},
	}
	cmd.Flags().StringVar(&f.datadir, "datadir", "", datadirUsage)
	f.add(cmd)
	cmd.Flags().Lookup("url").Usage = workspaceUsage
	return cmd
}

// manifest is that of a workspace or a directory.
func (in Invocation) manifest(cmd *cobra.Command, f sourceFlags) (flags []manifest.Flag, omitted int, err error) {
	if f.remote() {
		api, err := in.remote(f.remoteFlags)
		if err != nil {
			return nil, 0, err
		}
		return api.Manifest(cmd.Context())
	}
	path, err := in.discover(f.datadir)
	if err != nil {
		return nil, 0, err
	}
	ws, err := directory.Read("make a manifest of", path, manifest.DefaultRules)
	if err != nil {
		return nil, 0, in.locate(err)
	}
	served, err := explanation.Compile(ws, manifest.DefaultRules, nil, 0)
	if err != nil {
		return nil, 0, err
	}
	var outlines []manifest.Outline // one document is decoded at a time
	for _, stored := range ws.SortedByKey() {
		if folder, _, _ := workspace.SplitPath(stored.Path); folder == workspace.Flags {
			view := stored.Read().View
			outlines = append(outlines, manifest.Outline{Key: stored.Key, Name: view.Name, Description: view.Description, ValueType: view.ValueType})
		}
	}
	return manifest.Make(cmd.Context(), served, outlines, time.Now())
}

// manifestSchema is what the CLI writes into its manifests.
const manifestSchema = "https://raw.githubusercontent.com/open-feature/cli/refs/heads/main/schema/v0/flag-manifest.json"

// manifestFile is a file of the CLI, with its members in the order that the CLI writes them.
type manifestFile struct {
	Schema string              `json:"$schema"`
	Flags  map[string]fileFlag `json:"flags"`
}

type fileFlag struct {
	DefaultValue json.RawMessage `json:"defaultValue"`
	Description  string          `json:"description"`
	Type         manifest.Type   `json:"flagType"`
}
