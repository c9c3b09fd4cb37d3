// Package directory keeps a config directory ready to be served: it loads it,
// follows its changes, and holds what was good last.
//
// What must stay true:
//
//   - A directory with a fatal problem is refused at the start, with all its
//     problems. Once one has been served, a fatal problem never takes it away: a
//     file that has one is served as it last was good, and all others as they are.
//     What is served comes of one look at the directory, swapped in at once.
//   - A problem is reported once, not at every save, and so is its end.
package directory

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc.example/svc/devserver/importer"
	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/events"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/manifest"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// Directory is a config directory being served.
type Directory struct {
	path        string
	environment string
	report      func(line string)
	table       atomic.Pointer[delivery.Table]
	streams     *events.Hub // nil until Streams is asked for
	state       datadir.State
	units       *delivery.Units
	fresh       atomic.Pointer[loaded] // served, and not yet looked through for warnings
	warnings    map[string]bool        // Warn has told

	changing  sync.Mutex    // held by who loads a state, or overrides
	good      datadir.State // that is served
	documents *workspace.Servable[served]
	refused   map[string]bool // the problems that stand, as they were reported
	overrides []overrides.Override
	text      []byte          // of the file that they were read from
	unread    string          // why that cannot be read, as it was reported
	useless   map[string]bool // overrides, as they were reported
}

// Refusal is why nothing can be done with a directory.
type Refusal struct {
	Attempt  string // serve, import, evaluate
	Path     string
	Problems []workspace.Problem
}

func (r *Refusal) Error() string {
	lines := []string{fmt.Sprintf("cannot %s %s: %s", r.Attempt, r.Path, cli.Plural(len(r.Problems), "problem"))}
	for _, p := range r.Problems {
		lines = append(lines, p.In(r.Path))
	}
	return strings.Join(lines, "\n")
}

// Open loads a directory. Report receives one line for each thing a person
// should know from then on.
func Open(path, environment string, report func(line string)) (*Directory, error) {
	var one sync.Mutex // to report at a time
	safely := func(line string) {
		one.Lock()
		defer one.Unlock()
		report(line)
	}
	d := &Directory{path: path, environment: environment, report: safely, warnings: map[string]bool{}, units: delivery.NewUnits(environment)}
	d.documents = workspace.NewServable(func() func(item *workspace.Item) served {
		maker := d.units.Maker()
		return func(item *workspace.Item) served {
			unit := maker.Make(evaluation.Source{Key: item.Key, Document: item.View})
			return served{item.Key, unit, versions.PartOf(item.Key, item.Tree, item.View).In(d.environment)}
		}
	})
	state := datadir.Look(path)
	loaded, problems := d.load(state)
	if len(problems) > 0 {
		return nil, &Refusal{"serve", path, problems}
	}
	d.state = state
	d.serve(loaded, state)
	return d, nil
}

// Follow serves every later state of the directory until ctx is done, and warns of
// each, beginning with the one that is served.
func (d *Directory) Follow(ctx context.Context) {
	fresh := make(chan struct{}, 1)
	fresh <- struct{}{}
	var warned sync.WaitGroup
	warned.Go(func() {
		for range fresh {
			d.Warn() // which takes many times what the next edit does
		}
	})
	opened := d.state
	d.state = datadir.State{} // not to be held for as long as this runs
	datadir.Watch(ctx, d.path, opened, d.report, func(state datadir.State) {
		d.update(state)
		select {
		case fresh <- struct{}{}:
		default:
		}
	})
	close(fresh)
	warned.Wait()
}

// serve swaps a state in. Looking through it for warnings can wait: an edit
// should be served first.
func (d *Directory) serve(l *loaded, of datadir.State) {
	d.table.Store(l.table)
	if d.streams != nil {
		d.streams.Look()
	}
	d.good = datadir.State{Files: of.Files, Problems: of.Problems}
	d.fresh.Store(l)
	now := map[string]bool{}
	for _, useless := range l.overrides.Useless {
		line := useless.Warning()
		if now[line] = true; !d.useless[line] {
			d.report(line)
		}
	}
	d.useless = now
}

// Warn reports what svc verify would find in the state that is served, and what else
// is worth a warning, as far as it is new. It is for a directory that is not followed.
func (d *Directory) Warn() {
	l := d.fresh.Swap(nil)
	if l == nil {
		return
	}
	now := map[string]bool{}
	fresh := 0
	found := append(l.findings(), importer.Overlooked(d.path)...)
	workspace.SortProblems(found)
	for _, p := range found {
		line := p.In(d.path)
		now[line] = true
		if d.warnings[line] {
			continue
		}
		if fresh += max(1, p.More); fresh <= maxWarnings {
			d.report(line)
		}
	}
	if fresh > maxWarnings {
		d.report(fmt.Sprintf("and %d more; svc verify lists them", fresh-maxWarnings))
	}
	d.warnings = now
	debug.FreeOSMemory() // a load leaves garbage many times the size of what is served
}

const maxWarnings = 20

// Contents counts what is served, such as "2 flags, 1 config".
func (d *Directory) Contents() string {
	flags, configs := d.table.Load().Count()
	return cli.Plural(flags, "flag") + ", " + cli.Plural(configs, "config")
}

// Tables serves the directory to the holders of a key, or to everyone when
// there is none.
func (d *Directory) Tables(key string) delivery.Tables {
	if key == "" {
		return func(http.ResponseWriter, *http.Request, string) (*delivery.Table, error) { return d.table.Load(), nil }
	}
	want := sha256.Sum256([]byte(key))
	return func(_ http.ResponseWriter, _ *http.Request, presented string) (*delivery.Table, error) {
		got := sha256.Sum256([]byte(presented))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return nil, fault.New(fault.Unauthorized, "this server was started with --frontend-sdk-key: send that key as Authorization: Basic base64(1:<key>)")
		}
		return d.table.Load(), nil
	}
}

// turnEvery is how often streams look whether a rule on the time has turned.
const turnEvery = 250 * time.Millisecond

// Streams are at most so many event streams of the directory for the holders of a
// key, or for everyone when there is none. It is called once, before Follow.
func (d *Directory) Streams(key string, most int) *delivery.Streams {
	d.streams = events.NewHub(most, turnEvery)
	s := &delivery.Streams{Hub: d.streams, InactivityDelay: delivery.DeveloperInactivityDelay}
	channel := delivery.Evaluations(func(context.Context) (string, error) { return d.table.Load().VersionAt(time.Now().UnixMilli()), nil })
	stream := func(r *http.Request) events.Stream {
		return events.Stream{Name: d.environment, Channel: channel, Owner: delivery.Browser(r)}
	}
	if key == "" {
		s.Follow = func(_ http.ResponseWriter, r *http.Request, _ string) (events.Stream, error) { return stream(r), nil }
		return s
	}
	token := access.TokenOf("frontend", sha256.Sum256([]byte(key)), d.environment).String()
	s.Token = func(string, string) string { return token }
	s.Follow = func(_ http.ResponseWriter, r *http.Request, presented string) (events.Stream, error) {
		if !hmac.Equal([]byte(presented), []byte(token)) {
			return events.Stream{}, fault.New(fault.Unauthorized, "this server was started with --frontend-sdk-key: the address of its event stream, with a token, is in what POST %s answers to that key", endpoints.EvaluateFlags.Path)
		}
		return stream(r), nil
	}
	return s
}

// Behind is the state that is served, and whether files as they are now are not.
func (d *Directory) Behind() (served datadir.State, behind bool) {
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.good, len(d.refused) > 0
}

// loaded is a state that can be served.
type loaded struct {
	table     *delivery.Table
	ws        *workspace.Workspace
	problems  []workspace.Problem // none of them fatal
	overrides *overrides.Applied
}

// served is what is kept of a document.
type served struct {
	key     string
	unit    *delivery.Unit
	version *versions.Part
}

// load makes a table of a state, or says all that is in the way. Documents that are
// as they were in the state before are not read again; of the others each is
// decoded by itself: of all of them together it would take the memory.
func (d *Directory) load(state datadir.State) (*loaded, []workspace.Problem) {
	units, all := make([]*delivery.Unit, 0, len(state.Files)), versions.State{}
	at := map[string]*int{} // where the units of overridden documents stand, by key
	for i := range d.overrides {
		at[d.overrides[i].Key] = new(int)
	}
	ws, problems := d.documents.Read(state.Files, func(s served) {
		if at[s.key] != nil {
			*at[s.key] = len(units)
		}
		units = append(units, s.unit)
		all.Put(s.version)
	})
	applied := overrides.Apply(ws, d.overrides, time.Now())
	for _, source := range applied.Sources {
		units[*at[source.Key]] = d.units.Maker().Make(source)
	}
	table := d.units.Builder()
	for _, unit := range units {
		table.Put(unit)
	}
	version := all.Of(d.environment, versions.Salt{})
	if len(applied.Sources) > 0 {
		version.Client, version.Turns = version.Client.With(applied.Version()), version.Turns.And(applied.Turns())
	} else {
		d.units.Keep(table) // it has all units that may be put again
	}
	problems = append(problems, state.Problems...)
	if fatal := fatal(ws, problems, d.environment); len(fatal) > 0 {
		return nil, fatal
	}
	return &loaded{table.Table(version.ClientAfter, version.Turns), ws, problems, applied}, nil
}

// fatal are the problems that keep an environment from being served, in order; of
// manifest.DefaultRules those that keep the default rules from it.
func fatal(ws *workspace.Workspace, problems []workspace.Problem, environment string) []workspace.Problem {
	// Where the workspace file is broken, what it declares is not known.
	broken := slices.ContainsFunc(problems, func(p workspace.Problem) bool {
		return p.Severity == workspace.Fatal && p.File == workspace.File
	})
	why := ""
	switch e, declared := ws.Environment(environment); {
	case broken || environment == manifest.DefaultRules:
	case e.Archived:
		why = "archived, so that nothing is served there"
	case ws.Declared && !declared:
		why = "not declared"
	}
	if why != "" {
		problems = append(problems, workspace.Problem{Severity: workspace.Fatal, File: workspace.File,
			Message: fmt.Sprintf("the environment %q (--environment, else $SVC_ENVIRONMENT, else development) is %s; %s%s", environment, why, known(ws), workspace.DidYouMean(environment, ws.Active()))})
	}
	all := workspace.FatalOnly(problems)
	workspace.SortProblems(all)
	return all
}

// Read reads a directory as it is now. What cannot be served in the environment is
// a *Refusal to do what is attempted.
func Read(attempt, path, environment string) (*workspace.Workspace, error) {
	state := datadir.Look(path)
	ws, problems := workspace.ReadServable(state.Files, nil)
	if all := fatal(ws, append(problems, state.Problems...), environment); len(all) > 0 {
		return nil, &Refusal{attempt, path, all}
	}
	return ws, nil
}

// findings are what verification objects to and is served all the same, as svc verify
// has it, and what else of this state is worth a warning.
func (l *loaded) findings() []workspace.Problem {
	all := append(l.problems, workspace.Verify(l.ws)...)
	if _, named := l.ws.Environment(l.table.Environment); !named && !l.ws.Declared {
		all = append(all, workspace.Problem{Severity: workspace.Warning, File: workspace.File,
			Message: fmt.Sprintf("there is no such file, and no document names the environment %q, so the default rules are served; %s", l.table.Environment, known(l.ws))})
	}
	for _, w := range l.table.Withheld {
		are := "are"
		if w.Values == 1 {
			are = "is"
		}
		all = append(all, workspace.Problem{Severity: workspace.Warning, File: workspace.Path(w.Type, w.Key),
			Message: fmt.Sprintf("%s of %s %s not sent to browsers (%s); clients get their own default there", cli.Plural(w.Values, "value"), w.Key, are, w.Why)})
	}
	return all
}

func known(ws *workspace.Workspace) string {
	if names := ws.Active(); len(names) > 0 {
		return "known are " + strings.Join(names, ", ")
	}
	return "no environment is known"
}
