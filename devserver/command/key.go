package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
)

// kinds are the words for the kinds of key.
var kinds = map[string]access.Kind{
	"user":            access.KindUser,
	"service-account": access.KindServiceAccount,
	"public":          access.KindPublicSDK,
	"secret":          access.KindSecretSDK,
}

func kindWord(kind access.Kind) string {
	for word, k := range kinds {
		if k == kind {
			return word
		}
	}
	return string(kind)
}

func newKey(in Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make, list and revoke keys of a data directory",
		Long: `Make, list and revoke keys of a data directory. It works while svc api serves the
directory, and counts from the next request on.`,
		Args: cobra.NoArgs,
	}
	var data string
	cmd.PersistentFlags().StringVar(&data, "data", defaultData, "data directory of svc api")
	cmd.AddCommand(newKeyCreate(in, &data), newKeyList(in, &data), newKeyRevoke(in, &data))
	return cmd
}

func newKeyCreate(in Invocation, data *string) *cobra.Command {
	var m embedded.Minting
	var kind string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a key and print it, once",
		Long: `Make a key. Standard output is exactly the key; it is stored nowhere and can not
be printed again. Keys of the kinds user and service-account use the API, with
the roles of the person or account; public and secret are SDK keys, which read
one environment.

Roles: ` + strings.Join(access.Roles(), ", "),
		Example: `  svc key create --kind service-account --name ci --role engineer
  svc key create --kind user --name "Ada Lovelace" --email ada@acme.example --role protected_engineer
  svc key create --kind public --name web --environment production`,
		Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			var known bool
			if m.Kind, known = kinds[kind]; !known {
				return usagef("--kind is one of user, service-account, public, secret")
			}
			key, principal, err := embedded.Mint(cmd.Context(), in.absolute(*data), m)
			if err != nil {
				return in.noWorkspace(err, *data)
			}
			fmt.Fprintln(in.Stdout, key.Reveal())
			fmt.Fprintf(in.Stderr, "key %s for %s; it is shown this once\n", key.ID(), principal.Name)
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&kind, "kind", "", "user, service-account, public or secret")
	flags.StringVar(&m.Name, "name", "", "whose key it is, or what it is for")
	flags.StringVar(&m.Email, "email", "", "e-mail address of a user")
	flags.StringArrayVar(&m.Roles, "role", nil, "role of a user or service account that is new; may be repeated")
	flags.StringVar(&m.Environment, "environment", "", "environment that an SDK key reads")
	flags.DurationVar(&m.Expires, "expires", 0, "how long the key is good for, such as 720h (default for ever)")
	return cmd
}

// noWorkspace puts it in words that there is no data directory.
func (in Invocation) noWorkspace(err error, data string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s holds no workspace; svc api makes one, or name another with --data", data)
	}
	return err
}

// withRegistry runs work on the registry of a data directory.
func (in Invocation) withRegistry(data string, work func(*local.Registry) error) error {
	registry, err := local.OpenRegistry(in.absolute(data))
	if err != nil {
		return in.noWorkspace(err, data)
	}
	return errors.Join(work(registry), registry.Close())
}

// keyRow is a key as svc key list --json shows it.
type keyRow struct {
	ID        access.ID `json:"id"`
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Roles     []string  `json:"roles"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	RevokedAt time.Time `json:"revokedAt,omitzero"`
}

func newKeyList(in Invocation, data *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, revoked ones too",
		Args:  cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return in.withRegistry(*data, func(r *local.Registry) error {
				rows, err := keyRows(cmd.Context(), r)
				if err != nil {
					return err
				}
				if asJSON {
					enc := json.NewEncoder(in.Stdout)
					enc.SetIndent("", "  ")
					return enc.Encode(map[string][]keyRow{"keys": rows})
				}
				return in.printKeys(rows)
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func keyRows(ctx context.Context, r *local.Registry) ([]keyRow, error) {
	keys, err := r.Keys(ctx)
	if err != nil {
		return nil, err
	}
	principals, err := r.Principals(ctx)
	if err != nil {
		return nil, err
	}
	rows := []keyRow{}
	for _, key := range keys {
		row := keyRow{key.ID, kindWord(key.Kind), key.Name, []string{}, key.CreatedAt, key.ExpiresAt, key.RevokedAt}
		if i := slices.IndexFunc(principals, func(p access.Principal) bool { return p.ID == key.PrincipalID }); i >= 0 && principals[i].Roles != nil {
			row.Roles = principals[i].Roles
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (in Invocation) printKeys(rows []keyRow) error {
	table := [][]string{{"ID", "KIND", "NAME", "ROLES", "CREATED", "STATE"}}
	for _, k := range rows {
		state := "live"
		switch {
		case !k.RevokedAt.IsZero():
			state = "revoked " + k.RevokedAt.Format(time.DateOnly)
		case !k.ExpiresAt.IsZero():
			state = "until " + k.ExpiresAt.Format(time.DateTime)
		}
		table = append(table, []string{string(k.ID), k.Kind, k.Name, strings.Join(k.Roles, ","), k.CreatedAt.Format(time.DateOnly), state})
	}
	return in.printTable(table)
}

// printTable prints rows in columns.
func (in Invocation) printTable(rows [][]string) error {
	w := tabwriter.NewWriter(in.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

func newKeyRevoke(in Invocation, data *string) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke <id>",
		Short: "Revoke a key, for good",
		Args:  cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			id, err := keyID(args[0])
			if err != nil {
				return err
			}
			return in.withRegistry(*data, func(r *local.Registry) error {
				record, err := r.RevokeKey(cmd.Context(), id, time.Now().UTC().Truncate(time.Second))
				if err == nil {
					fmt.Fprintf(in.Stderr, "revoked %s (%s)\n", record.ID, record.Name)
				}
				return err
			})
		}),
	}
}

// keyID takes the id of a key, or the key itself: whoever has to revoke a
// leaked key may have nothing else.
func keyID(text string) (access.ID, error) {
	if key, err := access.ParseKey(text); err == nil {
		return key.ID(), nil
	}
	id, err := access.ParseID(text)
	if err != nil {
		return "", usagef("that is no id of a key: svc key list shows them")
	}
	return id, nil
}
