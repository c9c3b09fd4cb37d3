package local

import (
	"context"
	"errors"
	"sync"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
)

// Objects are the git objects of a data directory. A pack that comes with a
// commit is held in memory until the ledger makes the commit durable: those of
// all commits that are flushed together become one pack on disk.
type Objects struct {
	*disk.Objects

	storing sync.Mutex // one at a time stores what is held: else it would be stored twice

	lock sync.Mutex
	held map[string]*heldPack // by name, until they are released
}

// heldPack is a pack that was put and not yet released.
type heldPack struct {
	*pack.Pack
	index  *pack.Index
	stored *storedPack // nil while it is only in memory
}

// storedPack is a pack on disk that has taken in held ones.
type storedPack struct {
	name string
	held int // how many of them are not released
}

// PutPack implements repository.Objects.
func (o *Objects) PutPack(ctx context.Context, name string, content, index []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	parsed, err := pack.Accept(name, index)
	if err != nil {
		return err
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.held[name] == nil {
		o.held[name] = &heldPack{Pack: &pack.Pack{Name: name, Bytes: content, Index: index}, index: parsed}
	}
	return nil
}

// store makes packs durable, as one, unless they are.
func (o *Objects) store(ctx context.Context, names ...string) error {
	o.storing.Lock()
	defer o.storing.Unlock()
	o.lock.Lock()
	var held []*heldPack
	var packs []*pack.Pack
	for _, name := range names {
		if p := o.held[name]; p != nil && p.stored == nil {
			held, packs = append(held, p), append(packs, p.Pack)
		}
	}
	o.lock.Unlock()
	if len(held) == 0 {
		return nil
	}
	whole := packs[0]
	if len(packs) > 1 {
		var err error
		if whole, err = pack.Join(packs); err != nil {
			return err
		}
	}
	if err := o.Objects.PutPack(ctx, whole.Name, whole.Bytes, whole.Index); err != nil {
		return err
	}
	o.lock.Lock()
	stored := &storedPack{name: whole.Name}
	for _, p := range held {
		if o.held[p.Name] == p { // else it was released meanwhile
			stored.held++
		}
		p.stored, p.Pack, p.index = stored, nil, nil
	}
	o.lock.Unlock()
	if stored.held == 0 {
		o.Objects.Release(whole.Name)
	}
	return nil
}

// Release implements repository.Objects. The pack on disk is released with the
// last of those that it has taken in.
func (o *Objects) Release(name string) {
	o.lock.Lock()
	p := o.held[name]
	delete(o.held, name)
	switch {
	case p == nil:
	case p.stored == nil:
		name = ""
	default:
		name = p.stored.name
		if p.stored.held--; p.stored.held > 0 {
			name = ""
		}
	}
	o.lock.Unlock()
	if name != "" {
		o.Objects.Release(name)
	}
}

// storeHolding stores what is only in memory, if it holds an object: somebody
// asks for it before its commit has landed, and may ask for those before it.
func (o *Objects) storeHolding(ctx context.Context, id object.ID) error {
	var names []string
	holds := false
	o.lock.Lock()
	for name, p := range o.held {
		if p.stored != nil {
			continue
		}
		_, found := p.index.Find(id)
		holds, names = holds || found, append(names, name)
	}
	o.lock.Unlock()
	if !holds {
		return nil
	}
	return o.store(ctx, names...)
}

// Blob implements repository.Objects.
func (o *Objects) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	content, err := o.Objects.Blob(ctx, touch)
	if !errors.Is(err, odb.ErrNoObject) {
		return content, err
	}
	if err := o.storeHolding(ctx, object.ParseID(touch.Blob)); err != nil {
		return nil, err
	}
	return o.Objects.Blob(ctx, touch)
}

// Tree implements repository.Objects.
func (o *Objects) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	if err := o.storeHolding(ctx, object.ParseID(head.Commit)); err != nil {
		return repository.Tree{}, err
	}
	return o.Objects.Tree(ctx, head)
}
