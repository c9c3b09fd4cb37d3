package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/terminal"
)

// kinds are the words for the kinds of key.
var kinds = map[string]access.Kind{
	"user":            access.KindUser,
	"service-account": access.KindServiceAccount,
	"guard":           access.KindGuard,
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

// newKey makes the command key: create, list, rotate, revoke.
func newKey(s Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Create, list, rotate and revoke keys",
		Long:  "Create, list, rotate and revoke keys of " + s.Where + ".\n" + s.Note,
	}
	s.Flags(cmd)
	cmd.AddCommand(newKeyCreate(s), newKeyList(s), newKeyRotate(s), newKeyRevoke(s))
	return cmd
}

func newKeyCreate(s Settings) *cobra.Command {
	var q access.KeyRequest
	var kind, out string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a key and print it, once",
		Long: `Create a key. Standard output is exactly the key; it is not stored and cannot be
printed again. With --out the key is in a new file instead, which its owner alone may
read. Keys of the kinds user and service-account use the API, with the
roles of the person or account. Keys of the kinds public (for browsers) and secret
(for servers) are SDK keys: they read one environment. A key of the kind guard is of a
service account too, and is what Alertmanager or SNS show: it takes back what has named
that account as its guard, and does nothing else.

` + rolesInWords(),
		Example: "  " + s.Program + ` key create --kind service-account --name ci --role engineer
  ` + s.Program + ` key create --kind user --name "Ada Lovelace" --email ada@acme.example --role protected_engineer
  ` + s.Program + ` key create --kind public --name web --environment production
  ` + s.Program + ` key create --kind guard --name error-rate --role engineer`,
		Args: Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var known bool
			if q.Kind, known = kinds[kind]; !known {
				return Usagef("--kind must be one of user, service-account, guard, public, secret")
			}
			if out == "" {
				return s.createKey(cmd, q, func(key access.Key) error { return ShowKey(s.Stdout, s.Stderr, key, q.Name) })
			}
			return s.createKeyFile(cmd, q, out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&kind, "kind", "", "user, service-account, guard, public or secret")
	flags.StringVar(&q.Name, "name", "", "whose key it is, or what it is for")
	flags.StringVar(&q.Email, "email", "", "e-mail address of a user")
	flags.StringArrayVar(&q.Roles, "role", nil, "role of a new user or service account; may be repeated")
	flags.StringVar(&q.Environment, "environment", "", "environment that an SDK key reads")
	flags.StringVar(&q.Topic, "topic", "", "ARN of the SNS topic that a guard key takes alarms of")
	flags.Func("expires", "how long the key is valid, a `time` such as 90d or 12h (default for ever)", func(text string) (err error) {
		q.Expires, err = lifetime(text)
		return err
	})
	flags.StringVar(&out, "out", "", "file that is made to hold the key, instead of standard output")
	return cmd
}

// createKey issues a key and has it shown.
func (s Settings) createKey(cmd *cobra.Command, q access.KeyRequest, show func(access.Key) error) error {
	key, principal, err := s.IssueKey(cmd, q)
	if errors.Is(err, access.ErrOtherRoles) {
		return fmt.Errorf("%w; change them with: %s principal roles %s %s", err, s.Program, principal.ID, strings.Join(q.Roles, " "))
	}
	if err != nil {
		return err
	}
	if err := show(key); err != nil {
		return err
	}
	s.warn(q.Kind, principal)
	return nil
}

// createKeyFile puts a key into a file, which is made before the key is.
func (s Settings) createKeyFile(cmd *cobra.Command, q access.KeyRequest, name string) error {
	f, err := os.OpenFile(s.Absolute(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--out: %s is there already, and is not replaced: name another file", name)
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	issued := false
	err = s.createKey(cmd, q, func(key access.Key) error {
		issued = true
		_, err := fmt.Fprintln(f, key.Reveal())
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("the key %s was created and could not be written; revoke it and create another: %w", key.ID(), err)
		}
		fmt.Fprintf(s.Stderr, "key %s for %s is in %s, which its owner alone may read; it is not shown again\n", key.ID(), access.PlainName(q.Name), terminal.Escape(name))
		return nil
	})
	if !issued {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return err
}

// ShowKey prints a new key, which cannot be printed again, and says whose it is.
func ShowKey(stdout, stderr io.Writer, key access.Key, name string) error {
	if _, err := fmt.Fprintln(stdout, key.Reveal()); err != nil {
		return fmt.Errorf("the key %s was created and could not be printed; revoke it and create another: %w", key.ID(), err)
	}
	fmt.Fprintf(stderr, "key %s for %s; it is shown only once\n", key.ID(), access.PlainName(name))
	return nil
}

// warn tells why a key can do less than its maker may expect.
func (s Settings) warn(kind access.Kind, of access.Principal) {
	if !kind.Manages() {
		return
	}
	if len(access.Permissions(of.Roles)) == 0 {
		fmt.Fprintf(s.Stderr, "%s may read everything and edit nothing yet: %s principal roles %s engineer\n", terminal.Escape(of.Name), s.Program, of.ID)
	}
	if of.Disabled {
		fmt.Fprintf(s.Stderr, "%s is disabled, so the key is refused: %s principal enable %s\n", terminal.Escape(of.Name), s.Program, of.ID)
	}
}

// keyRow is a key as key list --json shows it.
type keyRow struct {
	ID          access.ID `json:"id"`
	Kind        string    `json:"kind"`
	Name        string    `json:"name"`
	Environment string    `json:"environment,omitempty"` // of an SDK key
	Roles       []string  `json:"roles"`
	CreatedAt   time.Time `json:"createdAt"`
	ExpiresAt   time.Time `json:"expiresAt,omitzero"`
	RevokedAt   time.Time `json:"revokedAt,omitzero"`
	LastUsedOn  string    `json:"lastUsedOn,omitempty"` // a day in UTC
}

func newKeyList(s Settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, revoked ones too, and when each was last used",
		Long: `List the keys, revoked ones too, and on which day (in UTC) each was last used.
That can be a little behind, since requests do not wait for it. "-" means not used
since svc keeps this record.`,
		Args: Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.Registry(cmd, func(r *access.Registry) error {
				rows, err := keyRows(cmd.Context(), r)
				if err != nil {
					return err
				}
				if asJSON {
					return JSON(s.Stdout, map[string][]keyRow{"keys": rows})
				}
				return s.printKeys(rows)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func keyRows(ctx context.Context, r *access.Registry) ([]keyRow, error) {
	keys, err := r.Keys(ctx)
	if err != nil {
		return nil, err
	}
	principals, err := r.Principals(ctx)
	if err != nil {
		return nil, err
	}
	used, err := r.LastUses(ctx)
	if err != nil {
		return nil, err
	}
	rows := []keyRow{}
	for _, key := range keys {
		if key.Kind.SignsIn() {
			continue
		}
		row := keyRow{key.ID, kindWord(key.Kind), key.Name, key.Environment, []string{}, key.CreatedAt, key.ExpiresAt, key.RevokedAt, used[key.ID]}
		if i := slices.IndexFunc(principals, func(p access.Principal) bool { return p.ID == key.PrincipalID }); i >= 0 && principals[i].Roles != nil {
			row.Roles = principals[i].Roles
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (s Settings) printKeys(rows []keyRow) error {
	table := [][]string{{"ID", "KIND", "NAME", "ENVIRONMENT", "ROLES", "CREATED", "STATE", "LAST USED"}}
	for _, k := range rows {
		state := "live"
		switch {
		case !k.RevokedAt.IsZero():
			state = "revoked " + k.RevokedAt.Format(time.DateOnly)
		case !k.ExpiresAt.IsZero():
			state = "until " + k.ExpiresAt.Format(time.DateTime)
		}
		table = append(table, []string{string(k.ID), k.Kind, k.Name, k.Environment, strings.Join(k.Roles, ","), k.CreatedAt.Format(time.DateOnly), state, cmp.Or(k.LastUsedOn, "-")})
	}
	return Table(s.Stdout, table)
}

func newKeyRotate(s Settings) *cobra.Command {
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:   "rotate <id>",
		Short: "Replace a key, which keeps working for a while",
		Long: `Replace a key by a new one with the same kind, owner, name and environment. The old
one keeps working for --overlap, so that you can roll the new one out, and then
expires. Standard output is exactly the new key.`,
		Example: "  " + s.Program + " key rotate wzzzhtxfhrjg4fpc --overlap 24h",
		Args:    Arguments("key list shows the ids"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := s.keyID(args[0])
			if err != nil {
				return err
			}
			return s.Registry(cmd, func(r *access.Registry) error {
				key, _, err := r.RotateKey(cmd.Context(), id, overlap)
				if err != nil {
					return err
				}
				record, err := r.Key(cmd.Context(), key.ID())
				return errors.Join(err, ShowKey(s.Stdout, s.Stderr, key, record.Name))
			})
		},
	}
	overlap = 24 * time.Hour
	cmd.Flags().Func("overlap", "how long the old key keeps working, a `time` such as 12h or 7d (default 24h)", func(text string) (err error) {
		overlap, err = lifetime(text)
		return err
	})
	return cmd
}

// keyID is the id of a key that is named by it, or by the key itself: of a leaked one there
// may be nothing else.
func (s Settings) keyID(named string) (access.ID, error) {
	if key, err := access.ParseKey(named); err == nil {
		return key.ID(), nil
	}
	id, err := access.ParseID(named)
	if err != nil {
		return "", Usagef("that is not the id of a key: %s key list shows them", s.Program)
	}
	return id, nil
}

func newKeyRevoke(s Settings) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke <id>",
		Short:   "Revoke a key, for good",
		Long:    "Revoke a key, for good. It is named by its id, or by the key itself.",
		Example: "  " + s.Program + " key revoke wzzzhtxfhrjg4fpc",
		Args:    Arguments("key list shows the ids"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := s.keyID(args[0])
			if err != nil {
				return err
			}
			return s.Registry(cmd, func(r *access.Registry) error {
				record, err := r.RevokeKey(cmd.Context(), id, time.Now().UTC().Truncate(time.Second))
				if err == nil {
					fmt.Fprintf(s.Stderr, "revoked %s (%s)\n", record.ID, terminal.Escape(record.Name))
				}
				return err
			})
		},
	}
}
