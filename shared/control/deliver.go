package control

import (
	"context"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// Delivery is one request of an application for what its environment serves.
type Delivery struct {
	session *Session
}

// Deliver opens a session for one request of an SDK key, with the same faults
// as Open.
func (p *Service) Deliver(c Caller) (*Delivery, error) {
	session, err := p.Open(c, Deliver)
	if err != nil {
		return nil, err
	}
	return &Delivery{session}, nil
}

// Follow opens a session for what an environment serves now, without a key.
func (p *Service) Follow(ctx context.Context, environment string) (*Delivery, error) {
	c, err := p.current(ctx, environment)
	if err == nil {
		err = c.check(follow)
	}
	if err != nil {
		return nil, err
	}
	return &Delivery{&Session{service: p, caller: c, use: follow}}, nil
}

// Key is the record of the key: its kind reports whether it is public.
func (d *Delivery) Key() access.KeyRecord { return d.session.caller.entry.Key }

// Environment is the environment that the key reads.
func (d *Delivery) Environment() string { return d.session.caller.entry.Key.Environment }

// WorkspaceID names the workspace.
func (d *Delivery) WorkspaceID() string { return d.session.caller.entry.Workspace.ID }

// Head is what is served from. Equal commits serve the same.
func (d *Delivery) Head() repository.Head { return d.session.caller.entry.Head }

// Known is the versions of the environment as the head tells them, which costs
// nothing. Those of an environment that is archived, or not there, it does not
// tell, and it may tell none: ask Versions.
func (d *Delivery) Known() (versions.Known, bool) {
	return versions.Find(d.session.caller.entry.Head.Versions, d.Environment())
}

// Open reads everything at the head. Files that cannot be read there are looked for again
// from time to time, so that the same head may lack fewer later.
func (d *Delivery) Open(ctx context.Context) (*served.Head, error) { return d.session.Open(ctx) }

// Versions is the versions of the environment, and the workspace as it is served,
// without its documents.
func (d *Delivery) Versions(ctx context.Context) (versions.Environment, *workspace.Workspace, error) {
	o, err := d.Open(ctx)
	if err != nil {
		return versions.Environment{}, nil, err
	}
	meta, err := o.Meta(ctx)
	if err != nil {
		return versions.Environment{}, nil, err
	}
	v := meta.Versions.Of(d.Environment(), d.salt())
	if known, told := d.Known(); told && len(o.Snapshot.Lost()) == 0 {
		v.SDK, v.Client = known.SDK, known.Client // so that all instances, and releases, name them alike
	}
	return v, meta.Workspace, nil
}

// salt is that of the workspace's versions. Where the secret is not to be had and
// the head tells no salt, versions move with every commit.
func (d *Delivery) salt() versions.Salt {
	entry := d.session.caller.entry
	if salt, told := versions.FindSalt(entry.Head.Versions); told {
		return salt
	}
	if len(entry.Workspace.Secret) > 0 {
		return versions.SaltOf(entry.Workspace.Secret)
	}
	return versions.SaltOf([]byte(entry.Head.Commit))
}
