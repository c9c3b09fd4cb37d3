package gitremote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
)

// spine is a commit of a remote with the trees that lead to a directory.
type spine struct {
	commit, root object.ID
	trees        map[object.ID][]byte
}

// read reads one of the trees.
func (s spine) read(id object.ID) (object.Kind, []byte, error) {
	if content, ok := s.trees[id]; ok {
		return object.TreeKind, content, nil
	}
	return "", nil, odb.ErrNoObject
}

// below is the tree of a directory, zero where there is none.
func (s spine) below(names []string) (object.ID, error) {
	at := s.root
	for i, name := range names {
		if at == (object.ID{}) {
			break
		}
		entries, err := object.ReadTree(s.read, at)
		if err != nil {
			return at, err
		}
		if at, err = folderIn(entries, names[:i+1], name); err != nil {
			return at, err
		}
	}
	return at, nil
}

// folderIn is an entry that has to be a folder, or not to be there.
func folderIn(entries []object.TreeEntry, path []string, name string) (object.ID, error) {
	for _, e := range entries {
		if e.Name != name {
			continue
		}
		kind := "file"
		switch {
		case e.IsFolder():
			return e.ID, nil
		case e.Mode == object.ModeSymlink:
			kind = "symbolic link"
		case e.Mode == object.ModeSubmodule:
			kind = "submodule"
		}
		return object.ID{}, refuse("%s is a %s in the remote, and svc writes into folders alone: move it away there, or name another --remote-path", filepath.ToSlash(filepath.Join(path...)), kind)
	}
	return object.ID{}, nil
}

// maxFetched bounds what is fetched at once, in bytes of a pack.
const maxFetched = 1 << 30

// fetch asks for commits, and stores what comes in a folder of its own, until the caller removes it.
func (r *Remote) fetch(ctx context.Context, x *exchange, request *packp.UploadPackRequest) (objects *disk.Objects, remove func(), err error) {
	text, err := encodeRequest(request)
	if err != nil {
		return nil, nil, err
	}
	answer, err := x.ask(text)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Close()
	response := packp.NewUploadPackResponse(request)
	if err := response.Decode(answer); err != nil {
		return nil, nil, fmt.Errorf("what the remote sends ends early or makes no sense: %w", err)
	}
	folder, err := os.MkdirTemp("", "svc-remote-*")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	if objects, err = received(ctx, filepath.Join(folder, "objects.git"), response); err != nil {
		remove()
	}
	return objects, remove, err
}

// spine fetches a branch's commit with the trees that lead to a directory, without its history.
// Where the server cannot leave the rest out, that comes too, and is let go.
func (r *Remote) spine(ctx context.Context, branch string, names []string) (s spine, err error) {
	x, err := r.open(ctx, uploadPack)
	if err != nil {
		return s, err
	}
	defer x.close()
	tip := x.tip(branch)
	if tip == (object.ID{}) {
		return s, nil
	}
	request := packp.NewUploadPackRequest()
	request.Wants, request.Depth = []object.ID{tip}, packp.DepthCommits(1)
	for _, c := range []capability.Capability{capability.Shallow, capability.OFSDelta} {
		if !x.refs.Capabilities.Supports(c) {
			return s, refuse("%s does not take the question for one commit alone (%s): svc cannot use a directory of it", r.Address, c)
		}
		if err := request.Capabilities.Set(c); err != nil {
			return s, err
		}
	}
	if x.refs.Capabilities.Supports(capability.Filter) {
		request.Filter = packp.FilterTreeDepth(uint64(len(names)))
		if err := request.Capabilities.Set(capability.Filter); err != nil {
			return s, err
		}
	}
	objects, remove, err := r.fetch(ctx, x, request)
	if err != nil {
		return s, err
	}
	defer remove()
	reader := objects.Reader(ctx)
	defer reader.Close()
	return readSpine(reader.Read, tip, names)
}

func readSpine(read object.Read, tip object.ID, names []string) (spine, error) {
	c, err := object.ReadCommit(read, tip)
	if err != nil {
		return spine{}, fmt.Errorf("what the remote sends is not what it was asked for: %w", err)
	}
	s := spine{commit: tip, root: c.Tree, trees: map[object.ID][]byte{}}
	at := c.Tree
	for i, name := range names {
		content, err := object.ReadAs(read, at, object.TreeKind)
		if err != nil {
			return s, fmt.Errorf("what the remote sends is not what it was asked for: %w", err)
		}
		s.trees[at] = content
		entries, err := object.DecodeTree(content)
		if err != nil {
			return s, err
		}
		if at, err = folderIn(entries, names[:i+1], name); err != nil || at == (object.ID{}) {
			return s, err
		}
	}
	return s, nil
}

// encodeRequest writes what is asked for, up to "done".
func encodeRequest(request *packp.UploadPackRequest) ([]byte, error) {
	var b buffer
	if err := request.UploadRequest.Encode(&b); err != nil {
		return nil, err
	}
	if err := request.UploadHaves.Encode(&b, false); err != nil {
		return nil, err
	}
	return append(b, "0009done\n"...), nil
}

type buffer []byte

func (b *buffer) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }

// received stores a pack in a new repository, with an index.
func received(ctx context.Context, at string, from io.Reader) (*disk.Objects, error) {
	objects, err := disk.Init(at)
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(at, odb.PackFolder, "pack-0000000000000000000000000000000000000000.pack"))
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(f, io.LimitReader(from, maxFetched+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("what the remote sends ends early: %w", err)
	}
	if n > maxFetched {
		return nil, refuse("the remote sends more than %d bytes", maxFetched)
	}
	if err := objects.IndexAgain(ctx, true); err != nil {
		return nil, fmt.Errorf("what the remote sends is no pack: %w", err)
	}
	return objects, nil
}
