// Package inventory lists what a config directory or a workspace holds: for svc ls,
// and for the tools of svc mcp.
//
// What must stay true: both are listed alike, in one order, so that who reads the one
// can read the other.
package inventory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/workspace"
)

// Listing is the items of a directory or a workspace, by type and key, and its
// environments that are not archived.
type Listing struct {
	Environments []workspace.Environment
	Items        []Item
}

// Item is a flag, a config, a log level or a segment.
type Item struct {
	Type            document.Type      `json:"type"`
	Key             string             `json:"key"`
	Name            string             `json:"name,omitempty"`
	Description     string             `json:"description,omitempty"`
	ValueType       document.ValueType `json:"valueType,omitempty"`
	Tags            []string           `json:"tags,omitempty"`
	ReadyForCleanup bool               `json:"readyForCleanup,omitempty"`
	// Statuses are by environment, of bool flags.
	Statuses map[string]document.Lifecycle `json:"statuses,omitempty"`
}

// Types are the types that are listed, in their order: what changes most often first.
var Types = []document.Type{document.Flag, document.Config, document.LogLevel, document.Segment}

// OfDirectory lists what was read of a directory. It decodes one document at a time.
func OfDirectory(ws *workspace.Workspace) *Listing {
	list, active := &Listing{}, ws.WithStatus()
	for _, e := range ws.Environments {
		if !e.Archived {
			list.Environments = append(list.Environments, e)
		}
	}
	for i := range ws.Items {
		read := ws.Items[i].Read()
		doc := read.View
		item := Item{Type: doc.Type, Key: read.Key, Name: doc.Name, Description: doc.Description,
			ValueType: doc.ValueType, Tags: doc.Tags, ReadyForCleanup: doc.ReadyForCleanup}
		if item.Type == document.Flag {
			_, item.Statuses = document.LifecyclesOf(doc).Statuses(active)
		}
		list.Items = append(list.Items, item)
	}
	list.sort()
	return list
}

// OfWorkspace asks the API of a workspace, in five requests.
func OfWorkspace(ctx context.Context, api *remote.Client) (*Listing, error) {
	list := &Listing{}
	environments, err := api.Environments(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range environments {
		list.Environments = append(list.Environments, workspace.Environment{Name: e.Name, Type: e.Type, Protected: e.Protected})
	}
	for _, of := range []struct {
		path, member string
		kind         document.Type
		valueType    document.ValueType
	}{
		{"/flags", "flags", document.Flag, ""},
		{"/configs", "configs", document.Config, ""},
		{"/log-levels", "logLevels", document.LogLevel, document.LogLevelValue},
		{"/segments", "segments", document.Segment, document.BoolValue},
	} {
		var rows []struct {
			Item
			EnvironmentStatuses map[string]document.Lifecycle
		}
		if err := api.List(ctx, of.path, nil, of.member, &rows); err != nil {
			return nil, err
		}
		for _, row := range rows {
			item := row.Item
			item.Type, item.Statuses = of.kind, row.EnvironmentStatuses
			if of.valueType != "" {
				item.ValueType = of.valueType
			}
			list.Items = append(list.Items, item)
		}
	}
	list.sort()
	return list, nil
}

func (l *Listing) sort() {
	slices.SortStableFunc(l.Items, func(a, b Item) int {
		return cmp.Or(slices.Index(Types, a.Type)-slices.Index(Types, b.Type), strings.Compare(a.Key, b.Key))
	})
}
