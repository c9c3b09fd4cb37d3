package control

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/turns"
	"svc.example/svc/shared/workspace"
)

// Settings are what a Service works with. All are needed but Directory, Keys, Used,
// Contexts, Evaluations and Registry.
type Settings struct {
	Authenticator Authenticator
	// Directory is needed for event streams alone.
	Directory Directory
	// Keys are needed where relays ask what a token stands for.
	Keys KeyFinder
	// Repository returns a workspace's repository. It is asked once or more
	// for every request, so it keeps what it opened.
	Repository func(ctx context.Context, workspace string) (Repository, error)
	// Remote tells of the repository elsewhere that is kept in step; nil for none.
	Remote func() *RemoteRow
	// Now is the time; for expiry and for the date of commits.
	Now func() time.Time
	// PublicURL is where clients reach the service, without /v1. It becomes a
	// part of every new document's $schema.
	PublicURL string
	// Used hears of each session that is opened, and returns at once. It may be
	// nil.
	Used func(key access.KeyRecord, at time.Time)
	// Registry is that of a workspace, for somebody whose edits the audit trail tells. Nil:
	// nobody does without approvals, and there are no change requests.
	Registry func(workspace string, by access.Principal) *access.Registry
	// Requests are change requests; without a table there are none.
	Requests request.Store
	// MaxTexts is how many bytes the documents of a workspace may have together:
	// a write beyond it is refused, since what serves it could not hold it. 0 is
	// repository.MaxTexts, which is also the most.
	MaxTexts int64
	// Contexts finds saved contexts; nil where none are saved.
	Contexts SavedContexts
	// Evaluations has what was counted of evaluations; nil where nothing is.
	Evaluations Evaluations
	// EvaluationsLocal: Evaluations are on this machine, where reading them takes
	// less time than starting to read them in parallel.
	EvaluationsLocal bool
	// NoLists says that nobody lists documents: what lists are made of is then
	// not remembered, about half of what a workspace takes here.
	NoLists bool
	// Random is in [0, 1) and decides splits that have no property to hash; nil is
	// math/rand/v2.
	Random func() float64
	// OneWriter says that nobody else than this process commits, but for git: writes
	// take turns before they are decided, so that none of them is in vain.
	OneWriter bool
	// Files says that the repository is files that nobody commits: what is an item's
	// commitSha elsewhere is the id of its content, and its $schema stays as it is.
	Files bool
	// Overrides tells what is served in the place of what documents say; nil where
	// nobody overrides anything.
	Overrides func(environment string) Overrides
	// Served is the commit that is served in an environment where that is not the head,
	// else ""; nil where the head always is. Repository.Past has it.
	Served func(environment string) (commit string)
	// MaxCompiled bounds what Evaluate compiles of one environment, in bytes; 0 is
	// any. One that has more is refused.
	MaxCompiled int64
	// CacheBytes bounds what is remembered of workspaces, with the texts of the
	// snapshots that were looked at; 0 is 32 MB. A workspace takes about 1 kB for
	// each document beside them. The one used last is remembered however large it
	// is.
	CacheBytes int64
}

// Overrides are rules that go before those of documents.
type Overrides struct {
	Version string // stands for them; "" for none
	Of      func(ws *workspace.Workspace) explanation.Overrides
}

// Service is the control plane of all workspaces. It may be used concurrently.
type Service struct {
	settings Settings
	served   *served.Memory
	feed     *feed.Feed
	// openValues are what evaluations are counted of, by the documents' blobs.
	openValues *lru.Cache[string, *openValues]
	// evaluated is what environments serve that were asked for last, compiled;
	// compiling holds who compiles one.
	evaluated *lru.Cache[stateName, *state]
	compiling chan struct{}
	large     *turns.Turns // bounds what is decoded at a time of large documents, by all
	changes   *change.Service
}

const (
	// defaultCacheBytes holds some 30,000 documents.
	defaultCacheBytes = 32 << 20
	// wordsShare of the bytes, one in so many, is for messages.
	wordsShare = 8
	// evaluatedShare of as many bytes again is for what environments serve.
	evaluatedShare = 2
)

// New makes a Service.
func New(settings Settings) *Service {
	most := cmp.Or(settings.CacheBytes, defaultCacheBytes)
	if settings.Random == nil {
		settings.Random = rand.Float64
	}
	large := turns.Of(turns.Decoded, turns.Decoded)
	p := &Service{settings: settings,
		served:    served.New(most-most/wordsShare, !settings.NoLists, settings.Files),
		evaluated: lru.New[stateName, *state](most / evaluatedShare), compiling: make(chan struct{}, 1),
		feed: feed.New(most/wordsShare, large), large: large,
		openValues: lru.New[string, *openValues](openValuesBytes)}
	writes := change.Settings{Now: settings.Now, Files: settings.Files, OneWriter: settings.OneWriter,
		MaxTexts: settings.MaxTexts, MaxCompiled: settings.MaxCompiled, Contexts: settings.Contexts}
	if settings.PublicURL != "" {
		writes.SchemaAddress = strings.TrimRight(settings.PublicURL, "/") + "/schemas/v1/stored-config.json"
	}
	p.changes = change.New(writes, p.served, large)
	return p
}
