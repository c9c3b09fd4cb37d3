package worktree

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/terminal"
)

const (
	dryRunParameter = "dryRun"
	keyParameter    = "key"
	forParameter    = "for"
)

// changing is the file that a write is to change, and its query, which has no other
// parameters than these, and each of them once: what is left out of one that was misspelt
// makes it another write.
func (a *API) changing(r *http.Request, known ...string) (file overrides.File, query url.Values, err error) {
	if query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return file, nil, fault.New(fault.BadRequest, "the query cannot be read: parameters are separated by &, and escaped")
	}
	known = append(known, dryRunParameter)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !slices.Contains(known, name):
			return file, nil, fault.New(fault.BadRequest, "?%s: unknown query parameter; known are %s", terminal.Cut(name, 100), strings.Join(known, ", "))
		case len(query[name]) > 1:
			return file, nil, fault.New(fault.BadRequest, "?%s is there twice; send it once", name)
		}
	}
	if dry := query.Get(dryRunParameter); query.Has(dryRunParameter) && dry != "true" && dry != "false" {
		return file, nil, fault.New(fault.BadRequest, "?%s is true or false", dryRunParameter)
	}
	if a.options.Overrides == nil {
		return file, nil, fault.New(fault.Unprocessable, "there is no place to keep overrides: neither $XDG_STATE_HOME nor a home directory is set")
	}
	file = *a.options.Overrides
	file.DryRun = query.Get(dryRunParameter) == "true"
	return file, query, nil
}

func (a *API) deleteOverrides(r *http.Request) (any, error) {
	if !bodies.Empty(r) {
		return nil, fault.New(fault.BadRequest, "DELETE takes no body; name what to take back in the query: ?%s= and ?%s=", keyParameter, forParameter)
	}
	file, query, err := a.changing(r, keyParameter, forParameter)
	if err != nil {
		return nil, err
	}
	key, whom := query.Get(keyParameter), query.Get(forParameter)
	var cleared int
	switch {
	case query.Has(keyParameter) && key == "":
		return nil, fault.New(fault.BadRequest, "?%s is empty; without it all overrides are taken back", keyParameter)
	case query.Has(forParameter) && key == "":
		return nil, fault.New(fault.BadRequest, "?%s is of one override; name its key too", forParameter)
	case query.Has(forParameter):
		one := overrides.Override{Key: key}
		if whom != "" { // else the one that is for every context
			if one.For, err = overrides.ParseProperty(whom); err != nil {
				return nil, fault.New(fault.BadRequest, "?%s: %v", forParameter, err)
			}
		}
		cleared, err = file.ClearOne(r.Context(), one)
	case key != "":
		cleared, err = file.Clear(r.Context(), key)
	default:
		cleared, err = file.ClearAll(r.Context())
	}
	if err != nil {
		return nil, overrideError(err)
	}
	return map[string]int{"cleared": cleared}, nil
}

// overrideError is why overrides were not changed.
func overrideError(err error) error {
	if fault.IsFullDisk(err) {
		return fault.New(fault.Unavailable, fault.FullDisk).Because(err)
	}
	return fault.New(fault.Unprocessable, "%v", err)
}
