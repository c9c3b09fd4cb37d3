package access_test

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

// guarded has a protected environment, open has none.
var (
	guarded = access.Environments{"production": true, "staging": false}
	open    = access.Environments{"staging": false, "development": false}
)

// The permission matrix. A "-" in the tier column is a document without one;
// "typo" is a tier that does not exist. Under each role: y = may write.
//
//go:embed testdata/matrix.txt
var matrix string

// Writes that touch several scopes, one that no environment declares, or none.
const combinations = `
workspace tier               scopes                required              member admin support engineer protected_engineer support_nonprotected engineer_nonprotected review_bypass

guarded   support            staging,production    config.edit.support   .      .     y       y        y                  .                    .                      .
guarded   standard           staging,production    config.edit.standard  .      .     .       y        y                  .                    .                      .
guarded   standard           staging,metadata      config.edit.standard  .      .     .       y        y                  .                    .                      .
guarded   protected-env      staging,production    config.edit.protected .      .     .       .        y                  .                    .                      .
guarded   protected-env      staging,metadata      config.edit.protected .      .     .       .        y                  .                    .                      .
open      standard           staging,development   config.edit.standard  .      .     .       y        y                  .                    y                      .
open      standard           staging,default       config.edit.standard  .      .     .       y        y                  .                    y                      .
open      protected-env      staging,development   config.edit.standard  .      .     .       y        y                  .                    y                      .
open      protected-env      staging,default       config.edit.protected .      .     .       .        y                  .                    .                      .

guarded   standard           undeclared            config.edit.standard  .      .     .       y        y                  .                    .                      .
guarded   protected-env      undeclared            config.edit.protected .      .     .       .        y                  .                    .                      .
open      standard           undeclared            config.edit.standard  .      .     .       y        y                  .                    y                      .
open      protected-env      undeclared            config.edit.standard  .      .     .       y        y                  .                    y                      .

guarded   support            -                     config.edit.support   .      .     y       y        y                  y                    y                      .
guarded   standard           -                     config.edit.standard  .      .     .       y        y                  .                    y                      .
guarded   protected-env      -                     config.edit.standard  .      .     .       y        y                  .                    y                      .
guarded   protected-all-envs -                     config.edit.protected .      .     .       .        y                  .                    .                      .
`

type row struct {
	cells    []string // the first three columns
	required access.Permission
	allowed  map[string]bool // by role
}

func readTable(t *testing.T, table string) []row {
	t.Helper()
	lines := strings.FieldsFunc(table, func(r rune) bool { return r == '\n' })
	roles := strings.Fields(lines[0])[4:]
	if !slices.Equal(slices.Sorted(slices.Values(roles)), access.Roles()) {
		t.Fatalf("the table's columns %v are not the roles %v", roles, access.Roles())
	}
	var rows []row
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		if len(cells) != 4+len(roles) {
			t.Fatalf("malformed row: %s", line)
		}
		r := row{cells: cells[:3], required: access.Permission(cells[3]), allowed: map[string]bool{}}
		for i, role := range roles {
			r.allowed[role] = cells[4+i] == "y"
		}
		rows = append(rows, r)
	}
	return rows
}

func workspaceOf(name string) access.Environments {
	if name == "guarded" {
		return guarded
	}
	return open
}

func scopesOf(workspace access.Environments, list string) []access.Scope {
	var scopes []access.Scope
	for name := range strings.SplitSeq(strings.TrimPrefix(list, "-"), ",") {
		switch name {
		case "":
		case "metadata":
			scopes = append(scopes, workspace.Metadata())
		default:
			scopes = append(scopes, workspace.Scope(name))
		}
	}
	return scopes
}

func tierOf(cell string) access.Tier {
	return access.Tier(strings.TrimPrefix(cell, "-"))
}

func checkRow(t *testing.T, r row, write access.Write) {
	t.Helper()
	for role, allowed := range r.allowed {
		if denial := access.Authorize([]string{role}, write); allowed != (denial == nil) {
			t.Errorf("%v as %s: denial %+v, want allowed %t", r.cells, role, denial, allowed)
		}
	}
	if denial := access.Authorize([]string{access.RoleMember}, write); denial == nil || denial.Required != r.required {
		t.Errorf("%v: a member is told %+v, want %s required", r.cells, denial, r.required)
	}
}

func TestPermissionMatrix(t *testing.T) {
	for _, table := range []string{matrix, combinations} {
		for _, r := range readTable(t, table) {
			tier, scopes := tierOf(r.cells[1]), scopesOf(workspaceOf(r.cells[0]), r.cells[2])
			if got := access.Required(tier, scopes); got != r.required {
				t.Errorf("%v: requires %s, want %s", r.cells, got, r.required)
			}
			checkRow(t, r, access.Edit(tier, scopes...))
		}
	}
}

func TestPermissionMatrixIsComplete(t *testing.T) {
	seen := map[string]int{}
	for _, r := range readTable(t, matrix) {
		seen[strings.Join(r.cells, " ")]++
	}
	want := 0
	for _, tier := range []string{"support", "standard", "-", "protected-env", "protected-all-envs", "typo"} {
		for _, place := range []string{
			"guarded %s default", "guarded %s metadata", "guarded %s staging", "guarded %s production",
			"open %s default", "open %s metadata", "open %s staging",
		} {
			want++
			if cell := fmt.Sprintf(place, tier); seen[cell] != 1 {
				t.Errorf("%q is in the matrix %d times, want once", cell, seen[cell])
			}
		}
	}
	if len(seen) != want {
		t.Errorf("%d different rows, want %d", len(seen), want)
	}
}

func TestDenialNamesWhatIsMissing(t *testing.T) {
	move := access.Move(access.TierSupport, access.TierProtectedAllEnvs, guarded.Metadata(), guarded.Scope("staging"))
	tests := []struct {
		name    string
		roles   []string
		write   access.Write
		want    []access.Permission
		message string
	}{
		{"variant that does not reach", []string{"engineer_nonprotected"},
			access.Edit(access.TierStandard, guarded.Scope("production")),
			[]access.Permission{access.EditStandard},
			"editing production (protected) needs the permission config.edit.standard, which comes with the role engineer or protected_engineer"},
		{"both tiers of a move", nil, move,
			[]access.Permission{access.EditSupport, access.EditProtected},
			"editing default (protected), staging needs the permission config.edit.support and config.edit.protected, which comes with the role protected_engineer"},
		{"one tier of a move held", []string{"engineer"}, move,
			[]access.Permission{access.EditProtected},
			"editing default (protected), staging needs the permission config.edit.protected, which comes with the role protected_engineer"},
		{"nothing touched", nil, access.Edit(""),
			[]access.Permission{access.EditStandard},
			"editing this document needs the permission config.edit.standard, which comes with the role engineer or engineer_nonprotected or protected_engineer"},
		{"zero write", []string{"engineer"}, access.Write{},
			[]access.Permission{access.EditProtected},
			"editing this document needs the permission config.edit.protected, which comes with the role protected_engineer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			denial := access.Authorize(test.roles, test.write)
			if denial == nil {
				t.Fatal("allowed")
			}
			if !slices.Equal(denial.Missing, test.want) {
				t.Errorf("missing %v, want %v", denial.Missing, test.want)
			}
			if denial.Required != test.want[len(test.want)-1] {
				t.Errorf("required %s, want the strictest of %v", denial.Required, test.want)
			}
			if denial.Message() != test.message {
				t.Errorf("message %q, want %q", denial.Message(), test.message)
			}
		})
	}
}

func TestScopes(t *testing.T) {
	tests := []struct {
		name      string
		workspace access.Environments
		scope     string
		protected bool
	}{
		{"protected environment", guarded, "production", true},
		{"other environment", guarded, "staging", false},
		{"default beside a protected environment", guarded, "default", true},
		{"default without one", open, "default", false},
		{"undeclared beside a protected environment", guarded, "Production", true},
		{"undeclared without one", open, "Production", false},
		{"no environments", nil, "default", false},
		{"default declared against the rules", access.Environments{"default": false, "production": true}, "default", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := access.Scope{Name: test.scope, Protected: test.protected}
			if got := test.workspace.Scope(test.scope); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	if guarded.Metadata() != guarded.Scope(access.DefaultScope) {
		t.Error("metadata is not the default scope")
	}
}

func drawWrite(t *rapid.T) (from, to access.Tier, scopes []access.Scope) {
	tier := rapid.SampledFrom([]access.Tier{"", "support", "standard", "protected-env", "protected-all-envs", "typo"})
	scope := rapid.SampledFrom([]access.Scope{
		guarded.Metadata(), open.Metadata(), guarded.Scope("staging"), guarded.Scope("production"),
	})
	return tier.Draw(t, "from"), tier.Draw(t, "to"), rapid.SliceOfN(scope, 0, 3).Draw(t, "scopes")
}

func drawRoles(t *rapid.T, label string) []string {
	slug := rapid.SampledFrom(append(access.Roles(), "Engineer", "owner", "", "config.edit.protected"))
	return rapid.SliceOfN(slug, 0, 4).Draw(t, label)
}

func TestMoveNeedsBothTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to, scopes := drawWrite(t)
		roles := drawRoles(t, "roles")
		both := access.Authorize(roles, access.Edit(from, scopes...)) == nil &&
			access.Authorize(roles, access.Edit(to, scopes...)) == nil
		if got := access.Authorize(roles, access.Move(from, to, scopes...)) == nil; got != both {
			t.Fatalf("move allowed: %t, each tier allowed: %t", got, both)
		}
	})
}

func TestMoreRolesNeverTakeAwayAndMoreScopesNeverGive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to, scopes := drawWrite(t)
		_, _, further := drawWrite(t)
		roles, added := drawRoles(t, "roles"), drawRoles(t, "added")
		allowed := access.Authorize(roles, access.Move(from, to, scopes...)) == nil
		if allowed && access.Authorize(slices.Concat(roles, added), access.Move(from, to, scopes...)) != nil {
			t.Fatal("a further role took a permission away")
		}
		if !allowed && access.Authorize(roles, access.Move(from, to, slices.Concat(scopes, further)...)) == nil {
			t.Fatal("a further scope gave a permission")
		}
	})
}

func TestPermissionsByRole(t *testing.T) {
	tests := []struct {
		roles string
		want  string
	}{
		{"", ""},
		{"member", ""},
		{"admin", ""},
		{"support", "config.edit.support"},
		{"engineer", "config.edit.standard config.edit.support"},
		{"protected_engineer", "config.edit.protected config.edit.standard config.edit.support"},
		{"support_nonprotected", "config.edit.support.nonprotected"},
		{"engineer_nonprotected", "config.edit.standard.nonprotected config.edit.support.nonprotected"},
		{"review_bypass", "config.review.bypass"},
		{"member admin support", "config.edit.support"},
		{"support engineer", "config.edit.standard config.edit.support"},
		{"support engineer_nonprotected", "config.edit.standard.nonprotected config.edit.support config.edit.support.nonprotected"},
		{"owner Engineer config.edit.protected", ""},
	}
	for _, test := range tests {
		t.Run(test.roles, func(t *testing.T) {
			var got []string
			for _, permission := range access.Permissions(strings.Fields(test.roles)) {
				got = append(got, string(permission))
			}
			if want := strings.Fields(test.want); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// around holds keys in the places where careless printing finds them.
type around struct {
	Shown  access.Key
	hidden access.Key
	point  *access.Key
	list   []access.Key
	byName map[string]access.Key
	any    any
}

func wrap(key access.Key) around {
	return around{key, key, &key, []access.Key{key}, map[string]access.Key{"k": key}, key}
}

// forms are the spellings in which a secret could come out.
func forms(t *testing.T, key access.Key) []string {
	t.Helper()
	text := key.Reveal()
	secret := text[56:99]
	raw := secretBytes(t, secret, key)
	return []string{
		text, secret, text[len(text)-6:],
		hex.EncodeToString([]byte(secret[:16])), strings.ToUpper(hex.EncodeToString([]byte(secret[:16]))),
		string(raw), hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
		strings.Trim(fmt.Sprint(raw[:8]), "[]"),
		strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", raw[:8]), "[]byte{"), "}"),
	}
}

// secretBytes decodes the secret without the package's help.
func secretBytes(t *testing.T, secret string, key access.Key) []byte {
	t.Helper()
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	raw := make([]byte, 32)
	for _, digit := range secret {
		carry := strings.IndexRune(digits, digit)
		for i := len(raw) - 1; i >= 0; i-- {
			carry += int(raw[i]) * 62
			raw[i], carry = byte(carry), carry>>8
		}
	}
	if sha256.Sum256(raw) != key.Digest() {
		t.Fatal("the test cannot decode a secret")
	}
	return raw
}

func checkHidden(t *testing.T, how, output string, forms []string) {
	t.Helper()
	for _, form := range forms {
		if strings.Contains(output, form) {
			t.Errorf("%s shows the secret: %s", how, output)
			return
		}
	}
}

func TestKeyIsRedactedUnderEveryVerb(t *testing.T) {
	key := newKey(t, access.KindServiceAccount, 3)
	secret := forms(t, key)
	for _, verb := range strings.Fields("%v %+v %#v %s %q %x %X % x %d %o %b %c %U %t %e %p %T %w %200v %.3s %+q %#q %#x") {
		for _, operand := range []any{key, &key, wrap(key), &around{hidden: key, point: &key}, []any{key}} {
			checkHidden(t, fmt.Sprintf("%s of %T", verb, operand), fmt.Sprintf(verb, operand), secret)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		want := "[service_account key " + string(key.ID()) + ", redacted]"
		if got := fmt.Sprintf(verb, key); got != want {
			t.Errorf("%s prints %q, want %q", verb, got, want)
		}
	}
	if got := fmt.Sprint(access.Key{}, (*access.Key)(nil)); got != "[no key] <nil>" {
		t.Errorf("the zero key and a nil key print %q", got)
	}
}

func TestKeyIsRedactedInErrorsPanicsAndOldLogs(t *testing.T) {
	key := newKey(t, access.KindUser, 4)
	secret := forms(t, key)
	checkHidden(t, "an error", errors.Join(fmt.Errorf("no %v", key), fmt.Errorf("%+v", wrap(key))).Error(), secret)
	var out bytes.Buffer
	log.New(&out, "", 0).Printf("%v %+v", key, wrap(key))
	checkHidden(t, "log", out.String(), secret)
	defer func() { checkHidden(t, "a panic", fmt.Sprint(recover()), secret) }()
	panic(wrap(key))
}

func TestKeyIsRedactedWhenEncoded(t *testing.T) {
	key := newKey(t, access.KindSecretSDK, 5)
	secret := forms(t, key)
	for _, value := range []any{key, &key, wrap(key), []access.Key{key}, map[string]any{"k": key}} {
		encoded := must.Get(json.Marshal(value))(t)
		checkHidden(t, fmt.Sprintf("JSON of %T", value), string(encoded), secret)
	}
	encoded := must.Get(xml.Marshal(key))(t)
	checkHidden(t, "XML", string(encoded), secret)
	if got, err := json.Marshal(key); err != nil || string(got) != `"`+key.String()+`"` {
		t.Errorf("JSON is %s, %v", got, err)
	}
}

func TestKeyIsRedactedInStructuredLogs(t *testing.T) {
	key := newKey(t, access.KindPublicSDK, 6)
	secret := forms(t, key)
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		logger := slog.New(handler).With("with", key)
		logger.Info("key", "key", key, "pointer", &key, "around", wrap(key), "list", []access.Key{key},
			slog.Group("group", "key", key), "error", fmt.Errorf("bad %#v", key))
	}
	if !strings.Contains(out.String(), string(key.ID())) {
		t.Errorf("the log does not say which key: %s", out.String())
	}
	checkHidden(t, "slog", out.String(), secret)
}
