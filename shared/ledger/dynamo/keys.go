package dynamo

import (
	"context"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/table"
)

// Keys authenticates as its Table does, and remembers keys and their principals. Of
// one that it remembers it reads the head alone: that tells the access version, which
// rises with every change of a key or a principal, so that a revocation bites at
// once. So a request reads one row, a unit of capacity where the head has no more than
// 4 KB, and not two of one partition beside it: a partition gives 3,000 a second.
type Keys struct {
	table *Table
	now   func() time.Time
	known *lru.Cache[keyName, knownKey]
}

type keyName struct{ workspace, principal, key access.ID }

// knownKey is what was read of a key at an access version, and when.
type knownKey struct {
	entry   control.Entry // without the workspace and the head
	version int64
	at      time.Time
}

const (
	// keysBytes is for some 1,000 keys.
	keysBytes    = 1 << 20
	knownBytes   = 1 << 10
	knownKeysFor = 5 * time.Second // should a workspace be restored as it once was, at the same version
)

// Keys makes a Keys with nothing in memory.
func (t *Table) Keys(now func() time.Time) *Keys {
	return &Keys{table: t, now: now, known: lru.New[keyName, knownKey](keysBytes)}
}

// Authenticate implements control.Authenticator.
func (k *Keys) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	name := keyName{key.Workspace(), key.Principal(), key.ID()}
	now := k.now().Round(0) // an instance may be asleep, and its monotonic clock with it
	if known, found := k.known.Get(name); once == "" && found && !now.Before(known.at) && now.Sub(known.at) < knownKeysFor {
		e, err := k.table.headAlone(ctx, name.workspace)
		if err != nil {
			return control.Entry{}, err
		}
		if e.Head.Access == known.version {
			e.Principal, e.Key = known.entry.Principal, known.entry.Key
			return e, nil
		}
	}
	e, err := k.table.Authenticate(ctx, key, once)
	if err != nil {
		k.known.Delete(name)
		return e, err
	}
	k.known.Put(name, knownKey{control.Entry{Principal: e.Principal, Key: e.Key}, e.Head.Access, now}, knownBytes)
	return e, nil
}

// headAlone reads what the head of a workspace tells.
func (t *Table) headAlone(ctx context.Context, ws access.ID) (control.Entry, error) {
	found, now, err := t.db.GetAt(ctx, []table.Key{headKey(ws)}, t.attributes...)
	if err != nil {
		return control.Entry{}, err
	}
	if len(found) == 0 {
		return control.Entry{}, access.ErrNotFound
	}
	return control.Entry{Workspace: workspaceOf(ws, found[0].Attributes), Head: headOf(found[0].Attributes), Now: now}, checkFormat(ws, found[0].Attributes)
}
