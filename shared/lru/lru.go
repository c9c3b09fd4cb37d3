// Package lru holds what an instance remembers to save time, within a bound of
// bytes: what was not used for longest goes first.
//
// Every cache of this project is one of these, so that a process stays within
// the memory it was given however many workspaces, keys and versions it serves.
// Libraries that are kept up bound entries rather than bytes, or count the most
// used ones for much more code.
//
// What must stay true:
//
//   - The values of a Cache are never worth more than its bound together, save
//     that the one used last stays even if it alone is more: its user has it in memory anyway.
//   - No caller relies on a value still being there: all of it can be made again.
//
// The bytes of a value are an estimate by the caller. What several values
// share is counted with each of them.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values by key. It may be used concurrently. The zero Cache keeps
// nothing but the value used last; New makes others.
type Cache[K comparable, V any] struct {
	mu      sync.Mutex
	most    int64
	held    int64
	entries map[K]*list.Element
	order   list.List // of *entry[K, V], the one used last in front
}

type entry[K comparable, V any] struct {
	key   K
	value V
	bytes int64
}

// New makes a Cache of at most so many bytes.
func New[K comparable, V any](most int64) *Cache[K, V] {
	return &Cache[K, V]{most: most}
}

// Get returns a value, which has been used with that.
func (c *Cache[K, V]) Get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, found := c.entries[key]
	if !found {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps a value of so many bytes, in the place of what was there.
func (c *Cache[K, V]) Put(key K, value V, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value, bytes)
}

// Share returns the value of a key, which create makes if there is none, of so
// many bytes to begin with. It is for values that grow as they are used: Weigh
// says by how much.
func (c *Cache[K, V]) Share(key K, bytes int64, create func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, found := c.entries[key]; found {
		c.order.MoveToFront(e)
		return e.Value.(*entry[K, V]).value
	}
	value := create()
	c.put(key, value, bytes)
	return value
}

// Weigh says how many bytes a value has come to, if it is still there, or is about to
// take: then others are not held beside it while it is made.
func (c *Cache[K, V]) Weigh(key K, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, found := c.entries[key]; found {
		c.weigh(e, bytes)
	}
}

func (c *Cache[K, V]) put(key K, value V, bytes int64) {
	if c.entries == nil {
		c.entries = map[K]*list.Element{}
	}
	e, found := c.entries[key]
	if !found {
		e = c.order.PushFront(&entry[K, V]{key: key})
		c.entries[key] = e
	}
	e.Value.(*entry[K, V]).value = value
	c.weigh(e, bytes)
}

// weigh says what an entry is worth that is used now.
func (c *Cache[K, V]) weigh(e *list.Element, bytes int64) {
	c.order.MoveToFront(e)
	of := e.Value.(*entry[K, V])
	c.held += bytes - of.bytes
	of.bytes = bytes
	for c.held > c.most && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

func (c *Cache[K, V]) remove(e *list.Element) {
	gone := c.order.Remove(e).(*entry[K, V])
	c.held -= gone.bytes
	delete(c.entries, gone.key)
}

// Delete forgets a value.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, found := c.entries[key]; found {
		c.remove(e)
	}
}

// Clear forgets everything.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.held = nil, 0
	c.order.Init()
}

// Values are all values, the one used last first. None counts as used for it.
func (c *Cache[K, V]) Values() []V {
	c.mu.Lock()
	defer c.mu.Unlock()
	values := make([]V, 0, c.order.Len())
	for e := c.order.Front(); e != nil; e = e.Next() {
		values = append(values, e.Value.(*entry[K, V]).value)
	}
	return values
}

// Held is how many bytes the values are worth together.
func (c *Cache[K, V]) Held() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}
