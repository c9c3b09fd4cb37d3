package repositorytest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
)

// testObjects holds the objects alone to their contract.
func testObjects(t *testing.T, w *world) {
	ctx := context.Background()
	large := bytes.Repeat([]byte("all work and no play\n"), 20_000)
	random := make([]byte, 300_000) // does not compress
	for i, x := 0, uint32(1); i < len(random); i++ {
		x = x*1664525 + 1013904223
		random[i] = byte(x >> 24)
	}
	contents := [][]byte{[]byte("one\n"), {}, large, random, []byte("one\n")}
	var objects []pack.Object
	for _, content := range contents {
		objects = append(objects, made(object.Blob, content))
	}
	p := must.Get(pack.Encode(objects))(t)
	for range 2 { // once more is no error
		must.Do(t, w.Objects.PutPack(ctx, p.Name, p.Bytes, p.Index))
	}
	for i, o := range objects {
		place := p.Places[o.ID]
		blob := o.ID.String()
		right := repository.Touch{Blob: blob, Pack: p.Name, Offset: place.Offset, Length: place.Length}
		noLength, wrong, gone := right, right, right
		noLength.Length = 0
		wrong.Offset = p.Places[objects[(i+1)%len(objects)].ID].Offset
		gone.Pack = strings.Repeat("a", 40)
		for _, touch := range []repository.Touch{right, noLength, wrong, gone, {Blob: blob}, {Blob: blob, Pack: "../../HEAD", Offset: 1}} {
			if got, err := w.Objects.Blob(ctx, touch); err != nil || !bytes.Equal(got, o.Content) {
				t.Errorf("%+v is %d bytes, %v; want %d", touch, len(got), err, len(o.Content))
			}
		}
	}
	ended := together(16, func(i int) error {
		o := objects[i%len(objects)]
		got, err := w.Objects.Blob(ctx, repository.Touch{Blob: o.ID.String()})
		if err == nil && !bytes.Equal(got, o.Content) {
			t.Errorf("read by many, %s is something else", o.ID)
		}
		return err
	})
	if i := slices.IndexFunc(ended, func(err error) bool { return err != nil }); i >= 0 {
		t.Error(ended[i])
	}
	w.Objects.Release(p.Name)
	w.Objects.Release(p.Name)
	w.Objects.Release(strings.Repeat("0", 40))
	testNoObjects(t, w, p)
}

// testNoObjects asks for what is not there and stores what cannot be stored.
func testNoObjects(t *testing.T, w *world, p *pack.Pack) {
	ctx := context.Background()
	for _, id := range []string{strings.Repeat("f", 40), "", "abcd", "../../../etc/passwd"} {
		if got, err := w.Objects.Blob(ctx, repository.Touch{Blob: id}); err == nil {
			t.Errorf("blob %q is %q", id, got)
		}
	}
	blob := object.Hash(object.Blob, []byte("one\n")).String()
	for _, commit := range []string{strings.Repeat("f", 40), blob} {
		if _, err := w.Objects.Tree(ctx, repository.Head{Commit: commit}); err == nil {
			t.Errorf("%s has a tree", commit)
		}
	}
	if tree, err := w.Objects.Tree(ctx, repository.Head{}); err != nil || len(tree.Files)+len(tree.Root) > 0 {
		t.Errorf("no commit has the tree %v, %v", tree, err)
	}
	head := w.commit("a tree", put("svc.json", "{}\n")).Head
	if tree := w.tree(head.Commit); len(tree.Root) != 1 {
		t.Errorf("the tree is %v", tree)
	} else if got, err := w.Objects.Blob(ctx, repository.Touch{Blob: object.Hash(object.TreeKind, object.EncodeTree(tree.Root)).String()}); err == nil {
		t.Errorf("a tree was returned as a blob: %q", got)
	}
	for _, name := range []string{"", "short", "../" + p.Name[3:], strings.ToUpper(p.Name[:39]) + "G"} {
		if err := w.Objects.PutPack(ctx, name, p.Bytes, p.Index); err == nil {
			t.Errorf("a pack was stored under the name %q", name)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := w.Objects.PutPack(cancelled, p.Name, p.Bytes, p.Index); err == nil {
		t.Error("a pack was stored though the request was cancelled")
	}
}
