// Package served tells what is served of a workspace at a head, with its versions.
//
// What is broken at the head is served as it last was good, or left out when it never
// was; only git brings such a file, since what is written through the API is checked. The
// environments are those of the workspace file as it last was good, or else those that
// documents name. Which content was the last good one is a question to the history, so
// that every instance finds the same, after a restart too.
//
// What a Memory remembers (the decoded documents of heads, the rows of lists) only saves
// time: a View does not change, and is shared by all who look at the same head.
package served

import (
	"context"

	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// History is what is asked of a workspace's repository.
type History interface {
	// History returns a page of history, newest first.
	History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error)
	// At returns a file as it was in a commit, and the commit's full SHA.
	At(ctx context.Context, head repository.Head, path, revision string) (sha string, content []byte, err error)
}

// Memory is what an instance remembers of workspaces. It may be used concurrently.
type Memory struct {
	caches *lru.Cache[string, *cache] // by workspace
	listed bool
	files  bool
}

// New makes a Memory of so many bytes. What lists are made of is remembered if documents
// are listed. Files that nobody commits are their owner's, who may do without a workspace
// file.
func New(bytes int64, listed, files bool) *Memory {
	return &Memory{lru.New[string, *cache](bytes), listed, files}
}

// Held is how many bytes are remembered.
func (m *Memory) Held() int64 { return m.caches.Held() }

// view is a snapshot of a workspace as it is remembered.
func (m *Memory) view(workspace string, snapshot *repository.Snapshot) *View {
	r := m.caches.Share(workspace, cacheBytes, func() *cache { return &cache{listed: m.listed} })
	m.caches.Weigh(workspace, snapshot.Size())
	v := r.at(snapshot)
	m.caches.Weigh(workspace, r.bytes())
	return v
}

// Head is a workspace at a head. It is used by one goroutine.
type Head struct {
	Snapshot *repository.Snapshot
	View     *View

	memory    *Memory
	workspace string // its id
	repo      History
	effective *workspace.Workspace // once it was asked for
}

// Open looks at a snapshot of a workspace.
func (m *Memory) Open(ctx context.Context, workspace string, repo History, snapshot *repository.Snapshot) (*Head, error) {
	h := &Head{Snapshot: snapshot, View: m.view(workspace, snapshot), memory: m, workspace: workspace, repo: repo}
	return h, h.resolveEnvironments(ctx)
}
