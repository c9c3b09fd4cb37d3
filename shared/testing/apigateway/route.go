package apigateway

import (
	"fmt"
	"slices"
	"strings"
)

// Route is a route and what it leads to.
type Route struct {
	Key    string // "ANY /v1/flags/{key}", "$default"
	Target string // a function's name

	method   string
	segments []string
}

// Routes are an API's routes, the most particular first.
type Routes []Route

// NewRoutes makes routes of their keys and targets.
func NewRoutes(routes []Route) (Routes, error) {
	out := slices.Clone(routes)
	seen := map[string]bool{}
	for i, r := range out {
		method, path, found := strings.Cut(r.Key, " ")
		if seen[r.Key] || !found && r.Key != "$default" || found && (!strings.HasPrefix(path, "/") || len(path) > 1 && strings.HasSuffix(path, "/")) {
			return nil, fmt.Errorf("the route %q stands twice, or is none", r.Key)
		}
		seen[r.Key] = true
		if found {
			out[i].method, out[i].segments = method, strings.Split(path[1:], "/")
		}
	}
	slices.SortStableFunc(out, func(a, b Route) int { return slices.Compare(a.rank(), b.rank()) })
	return out, nil
}

// rank is smaller for what the gateway prefers: segment by segment a text
// before a parameter before a greedy one; then a method before ANY.
func (r Route) rank() []int {
	if r.segments == nil {
		return []int{9}
	}
	var out []int
	for _, s := range r.segments {
		switch {
		case strings.HasSuffix(s, "+}"):
			out = append(out, 2)
		case strings.HasPrefix(s, "{"):
			out = append(out, 1)
		default:
			out = append(out, 0)
		}
	}
	if r.method == "ANY" {
		return append(out, 4)
	}
	return append(out, 3)
}

// find chooses the route of a decoded path.
func (rs Routes) find(method, path string) (found Route, parameters map[string]string, ok bool) {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if last := len(segments) - 1; last > 0 && segments[last] == "" {
		segments = segments[:last]
	}
	for _, r := range rs {
		if r.segments == nil {
			return r, nil, true
		}
		if r.method != "ANY" && r.method != method {
			continue
		}
		if parameters, fits := r.match(segments); fits {
			return r, parameters, true
		}
	}
	return Route{}, nil, false
}

func (r Route) match(segments []string) (map[string]string, bool) {
	parameters := map[string]string{}
	for i, want := range r.segments {
		if i >= len(segments) || segments[i] == "" {
			return nil, false
		}
		name, isParameter := strings.CutPrefix(strings.TrimSuffix(want, "}"), "{")
		switch {
		case strings.HasSuffix(name, "+"):
			parameters[strings.TrimSuffix(name, "+")] = strings.Join(segments[i:], "/")
			return parameters, true
		case isParameter:
			parameters[name] = segments[i]
		case segments[i] != want:
			return nil, false
		}
	}
	return parameters, len(segments) == len(r.segments)
}
