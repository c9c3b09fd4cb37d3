package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/workspace"
)

// Minting is a key to be made.
type Minting struct {
	Kind        access.Kind
	Name        string
	Email       string        // of the person, for a user key
	Roles       []string      // of a principal that is new
	Environment string        // which an SDK key reads
	Expires     time.Duration // 0 for never
}

// Mint makes a key in a data directory, which another process may be serving,
// and returns it. Its text can be had from what is returned and nowhere else.
func Mint(ctx context.Context, dir string, m Minting) (access.Key, access.Principal, error) {
	if err := m.check(); err != nil {
		return access.Key{}, access.Principal{}, err
	}
	registry, err := local.OpenRegistry(dir)
	if err != nil {
		return access.Key{}, access.Principal{}, err
	}
	if err := knownEnvironment(ctx, dir, m.Environment); err != nil {
		return access.Key{}, access.Principal{}, errors.Join(err, registry.Close())
	}
	key, principal, err := mint(ctx, registry, m)
	return key, principal, errors.Join(err, registry.Close())
}

// knownEnvironment refuses an environment that the workspace does not have: a
// slip would have applications served the default rules.
func knownEnvironment(ctx context.Context, dir, name string) error {
	if name == "" {
		return nil
	}
	git := filepath.Join(dir, local.RepositoryName)
	commit, err := local.HeadOf(git)
	if err != nil || commit == "" {
		return err
	}
	objects, err := disk.Open(git)
	if err != nil {
		return err
	}
	tree, err := objects.Tree(ctx, repository.Head{Commit: commit})
	if err != nil {
		return err
	}
	ws, _ := workspace.Read(tree.Files)
	if e, known := ws.Environment(name); !known || e.Archived {
		return fmt.Errorf("there is no environment %q; the workspace has %s", name, strings.Join(ws.Active(), ", "))
	}
	return nil
}

// check says all that is wrong with a request for a key.
func (m Minting) check() error {
	var problems []string
	sdk := m.Kind == access.KindPublicSDK || m.Kind == access.KindSecretSDK
	if plainName(m.Name) == "" {
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

func mint(ctx context.Context, registry *local.Registry, m Minting) (access.Key, access.Principal, error) {
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
	record := access.RecordOf(key, plainName(m.Name), now)
	record.Environment = m.Environment
	if m.Expires > 0 {
		record.ExpiresAt = now.Add(m.Expires)
	}
	return key, principal, registry.CreateKey(ctx, record)
}

// sdkPrincipal is whom SDK keys belong to: applications, which edit nothing.
const sdkPrincipal = "applications"

func (m Minting) principal(ctx context.Context, registry *local.Registry) (access.Principal, error) {
	id, err := access.NewID(rand.Reader)
	if err != nil {
		return access.Principal{}, err
	}
	p := access.Principal{ID: id, Type: access.PrincipalServiceAccount, Name: plainName(m.Name), Roles: m.Roles}
	switch m.Kind {
	case access.KindUser:
		p.Type, p.Email = access.PrincipalUser, m.Email
	case access.KindPublicSDK, access.KindSecretSDK:
		p.Name, p.Roles = sdkPrincipal, nil
	}
	found, created, err := registry.EnsurePrincipal(ctx, p)
	if err == nil && !created && len(m.Roles) > 0 && !sameRoles(found.Roles, m.Roles) {
		err = fmt.Errorf("%s is there already, with other roles (%s); change them with: svc principal roles %s %s",
			found.Name, strings.Join(found.Roles, ", "), found.ID, strings.Join(m.Roles, " "))
	}
	return found, err
}

func sameRoles(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
