// Package command is the command line of svcadmin: what each command takes,
// what it prints, and the status it exits with. The work is in package admin.
//
// What must stay true:
//
//   - Standard output carries what was asked for, standard error everything
//     else; a key or an id stands there alone.
//   - Nothing asks a question unless a person sits at a terminal. What would
//     have asked refuses instead, and names the flag that answers.
//   - What changes documents says whose change it is.
package command

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/release"
	"svc.example/svc/shared/webhook"
)

// Main runs the command line and returns the exit status.
func Main(ctx context.Context, args []string, c cli.Caller) int {
	return cli.Main(ctx, args, c, newRoot)
}

// session is one run, with what the flags for all commands say.
type session struct {
	*cli.Caller
	table, bucket string
	workspace     string
}

const (
	tableVariable     = "SVC_TABLE"
	bucketVariable    = "SVC_BUCKET"
	workspaceVariable = "SVC_WORKSPACE"
)

func newRoot(c *cli.Caller) *cobra.Command {
	s := &session{Caller: c}
	c.Explain = s.explain
	root := &cobra.Command{
		Use:   "svcadmin",
		Short: "Look after a hosted svc: workspaces, keys, and what is stored of them",
		Long: `svcadmin looks after a hosted svc: its workspaces, keys and environments, and
what is stored of them. It works on the table and the bucket directly, beside the
running service, so you need access to both in AWS.

Set once where they are; the outputs of the stack name them:

  export SVC_TABLE=svc-Table-1ABC SVC_BUCKET=svc-bucket-2def AWS_REGION=eu-central-1

To begin:

  svcadmin workspace create acme --from ./our-config --key
  svcadmin key create --kind public --name web --environment production

To change many files at once, edit them and commit all of it:

  svcadmin export ./acme
  svcadmin apply ./acme

To keep all of a workspace elsewhere, and to have it back:

  svcadmin backup acme.tar
  svcadmin restore acme.tar

Region and credentials are found like those of every AWS tool (AWS_REGION,
AWS_PROFILE, ~/.aws). AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_S3 name other
servers than AWS's.`,
		Version:       release.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&s.table, "table", s.Getenv(tableVariable), "DynamoDB table (default $"+tableVariable+")")
	flags.StringVar(&s.bucket, "bucket", s.Getenv(bucketVariable), "S3 bucket (default $"+bucketVariable+")")
	for _, name := range []string{"table", "bucket"} {
		flags.Lookup(name).DefValue = "" // the help is the same everywhere
	}
	root.AddCommand(newWorkspace(s), newExport(s), newBackup(s), newRestore(s),
		newUsage(s), newFsck(s), newReindex(s), newTips(s), newCompact(s), newMaintain(s), newTable(s))
	root.AddCommand(s.settings().Commands()...)
	return cli.InOrder(root)
}

// stores opens the table and the bucket. Nothing is asked yet.
func (s *session) stores(ctx context.Context) (*admin.Stores, error) {
	if s.table == "" || s.bucket == "" {
		return nil, cli.Usagef("say where the service is: --table and --bucket, or %s and %s (the outputs of the stack name them)", tableVariable, bucketVariable)
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // errors say what there is to say
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, errors.New("no AWS region is set: export AWS_REGION=eu-central-1, for example")
	}
	if err := haveCredentials(ctx, cfg); err != nil {
		return nil, err
	}
	return admin.Open(cfg, s.table, s.bucket), nil
}

// with makes a command's function of work on all workspaces.
func (s *session) with(work func(cmd *cobra.Command, stores *admin.Stores, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		stores, err := s.stores(cmd.Context())
		if err != nil {
			return err
		}
		return work(cmd, stores, args)
	}
}

// open finds the workspace that a command works on.
func (s *session) open(ctx context.Context) (*admin.Workspace, error) {
	stores, err := s.stores(ctx)
	if err != nil {
		return nil, err
	}
	return stores.Find(ctx, s.workspace)
}

// ofWorkspace adds the flag that names the workspace.
func (s *session) ofWorkspace(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&s.workspace, "workspace", s.Getenv(workspaceVariable), "name or id of the workspace (default $"+workspaceVariable+", or the only one)")
	f.Lookup("workspace").DefValue = ""
}

// on makes a command's function of work on the workspace.
func (s *session) on(work func(cmd *cobra.Command, w *admin.Workspace, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		w, err := s.open(cmd.Context())
		if err != nil {
			return err
		}
		return work(cmd, w, args)
	}
}

// settings say how the commands of every program reach a workspace.
func (s *session) settings() cli.Settings {
	return cli.Settings{
		Caller: s.Caller, Program: "svcadmin", Where: "a workspace",
		Note:  "It takes effect with the next request.",
		Flags: s.ofWorkspace, Notes: sizeNotes,
		Registry: func(cmd *cobra.Command, work func(*access.Registry) error) error {
			return s.on(func(_ *cobra.Command, w *admin.Workspace, _ []string) error {
				return work(w.Registry().By(s.Actor(cmd.Context())))
			})(cmd, nil)
		},
		IssueKey: func(cmd *cobra.Command, q access.KeyRequest) (key access.Key, principal access.Principal, err error) {
			w, err := s.open(cmd.Context())
			if err != nil {
				return key, principal, err
			}
			return w.IssueKey(cmd.Context(), s.Actor(cmd.Context()), q)
		},
		Audit: func(cmd *cobra.Command, newest int) ([]audit.Event, error) {
			w, err := s.open(cmd.Context())
			if err != nil {
				return nil, err
			}
			return w.Audit(cmd.Context(), newest)
		},
		Webhooks: func(cmd *cobra.Command, work func(*webhook.Manager) error) error {
			return s.on(func(cmd *cobra.Command, w *admin.Workspace, _ []string) error {
				return work(w.Webhooks(s.Actor(cmd.Context())))
			})(cmd, nil)
		},
		Open: func(cmd *cobra.Command, work func(w *provision.Workspace) error) error {
			return s.on(func(_ *cobra.Command, w *admin.Workspace, _ []string) error { return work(w.Workspace) })(cmd, nil)
		},
	}
}

// progress shows how far something has come, on a terminal only.
func (s *session) progress(doing, unit string) func(done, total int) {
	return cli.Progress(s.Stderr, doing, unit)
}
