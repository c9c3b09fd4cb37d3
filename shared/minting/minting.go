package minting

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/workspace"
)

// Registry is where the key and its principal go.
type Registry interface {
	Workspace(ctx context.Context) (control.Workspace, error)
	// EnsurePrincipal returns the principal that stands for the same person or
	// program, as it is, and adds p only when there is none.
	EnsurePrincipal(ctx context.Context, p access.Principal) (found access.Principal, created bool, err error)
	CreateKey(ctx context.Context, record access.KeyRecord) error
}

// Request is a key to be made.
type Request struct {
	// By is who makes the key, for the audit trail.
	By          string
	Kind        access.Kind
	Name        string
	Email       string        // of the person, for a user key
	Roles       []string      // of a principal that is new
	Environment string        // which an SDK key reads
	Expires     time.Duration // 0 for never
	Program     string        // what an error tells to run; svc when it is ""
}

// Check says all that is wrong with a request for a key.
func (m Request) Check() error {
	var problems []string
	sdk := m.Kind == access.KindPublicSDK || m.Kind == access.KindSecretSDK
	if PlainName(m.Name) == "" {
		problems = append(problems, "a key needs a name (--name), to be told from others")
	}
	if sdk && m.Environment == "" {
		problems = append(problems, "an SDK key reads one environment: name it with --environment")
	}
	if !sdk && m.Environment != "" {
		problems = append(problems, "only SDK keys (public, secret) have an environment")
	}
	if sdk && len(m.Roles) > 0 {
		problems = append(problems, "an SDK key edits nothing, so it has no role")
	}
	if m.Kind != access.KindUser && m.Email != "" {
		problems = append(problems, "only a user has an e-mail address")
	}
	if m.Expires < 0 {
		problems = append(problems, "--expires lies in the past")
	}
	problems = append(problems, unknownRoles(m.Roles)...)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	return nil
}

func unknownRoles(roles []string) []string {
	var problems []string
	for _, role := range roles {
		if !slices.Contains(access.Roles(), role) {
			problems = append(problems, fmt.Sprintf("there is no role %q; roles are %s", role, strings.Join(access.Roles(), ", ")))
		}
	}
	return problems
}

// Mint makes a key and returns it with the principal that it stands for.
func Mint(ctx context.Context, registry Registry, m Request) (access.Key, access.Principal, error) {
	ws, err := registry.Workspace(ctx)
	if err != nil {
		return access.Key{}, access.Principal{}, err
	}
	principal, err := m.principal(ctx, registry)
	if err != nil {
		return access.Key{}, principal, err
	}
	key, err := access.NewKey(rand.Reader, m.Kind, access.ID(ws.ID), principal.ID)
	if err != nil {
		return access.Key{}, principal, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	record := access.RecordOf(key, PlainName(m.Name), now)
	record.Environment = m.Environment
	if m.Expires > 0 {
		record.ExpiresAt = now.Add(m.Expires)
	}
	return key, principal, registry.CreateKey(ctx, record)
}

// sdkPrincipal is whom SDK keys belong to: applications, which edit nothing.
const sdkPrincipal = "applications"

func (m Request) principal(ctx context.Context, registry Registry) (access.Principal, error) {
	id, err := access.NewID(rand.Reader)
	if err != nil {
		return access.Principal{}, err
	}
	p := access.Principal{ID: id, Type: access.PrincipalServiceAccount, Name: PlainName(m.Name), Roles: m.Roles}
	switch m.Kind {
	case access.KindUser:
		p.Type, p.Email = access.PrincipalUser, m.Email
	case access.KindPublicSDK, access.KindSecretSDK:
		p.Name, p.Roles = sdkPrincipal, nil
	}
	found, created, err := registry.EnsurePrincipal(ctx, p)
	if err == nil && !created && len(m.Roles) > 0 && !sameRoles(found.Roles, m.Roles) {
		err = fmt.Errorf("%s is there already, with other roles (%s); change them with: %s principal roles %s %s",
			found.Name, strings.Join(found.Roles, ", "), m.program(), found.ID, strings.Join(m.Roles, " "))
	}
	return found, err
}

func sameRoles(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

func (m Request) program() string {
	if m.Program == "" {
		return "svc"
	}
	return m.Program
}

// PlainName keeps a name to what a registry and a commit can hold, and every
// tool can show: git prints authors as they are.
func PlainName(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, " "), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}

// KnownEnvironment refuses an environment that a workspace does not have: a
// slip would have applications served the default rules.
func KnownEnvironment(ws *workspace.Workspace, name string) error {
	if e, known := ws.Environment(name); !known || e.Archived {
		has := strings.Join(ws.Active(), ", ")
		if has == "" {
			has = "none yet: they stand in svc.json"
		}
		return fmt.Errorf("there is no environment %q; the workspace has %s", name, has)
	}
	return nil
}
