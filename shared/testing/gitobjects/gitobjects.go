// Package gitobjects makes git's objects for tests one by one, also such as git
// itself would not write.
package gitobjects

import (
	"testing"
	"time"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
)

// Blob is a file's content.
func Blob(text string) pack.Object { return of(object.Blob, []byte(text)) }

func of(kind object.Kind, content []byte) pack.Object {
	return pack.Object{ID: object.Hash(kind, content), Kind: kind, Content: content}
}

// Tree is a tree with entries in their order.
func Tree(t testing.TB, entries ...object.TreeEntry) pack.Object {
	t.Helper()
	return of(object.TreeKind, object.EncodeTree(entries))
}

// Commit is a commit of a tree.
func Commit(tree pack.Object, parents ...object.ID) pack.Object {
	who := object.Signature{Name: "x", Email: "x", When: time.Unix(1_700_000_000, 0)}
	return of(object.CommitKind, object.EncodeCommit(object.Commit{Tree: tree.ID, Parents: parents, Author: who, Committer: who, Message: "x"}))
}

// Store puts objects into a repository as one pack.
func Store(t testing.TB, into *disk.Objects, objects ...pack.Object) {
	t.Helper()
	p, err := pack.Encode(objects)
	if err == nil {
		err = into.PutPack(t.Context(), p.Name, p.Bytes, p.Index)
		into.Release(p.Name)
	}
	must.Do(t, err)
}

// StoreIn is Store for a directory.
func StoreIn(t testing.TB, git string, objects ...pack.Object) {
	t.Helper()
	into := must.Get(disk.Open(git))(t)
	Store(t, into, objects...)
}
