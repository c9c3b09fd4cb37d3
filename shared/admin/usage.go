package admin

import (
	"context"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/workspace"
)

// Usage is what a workspace takes, and who was seen in a month.
type Usage struct {
	telemetry.Usage
	Documents int   `json:"documents"`
	Schemas   int   `json:"schemas"`
	Commits   int64 `json:"commits"`
	Packs     int   `json:"packs"`       // that the history lies in
	Objects   int   `json:"objects"`     // in the bucket, packs with their indexes and snapshots
	Bytes     int64 `json:"objectBytes"` // of these
	LiveKeys  int   `json:"liveKeys"`
}

// Usage counts.
func (w *Workspace) Usage(ctx context.Context, month telemetry.Month) (Usage, error) {
	seen, err := w.stores.usage.Usage(ctx, w.ID, month)
	u := Usage{Usage: seen}
	if err != nil {
		return u, err
	}
	s, err := w.Snapshot(ctx)
	if err != nil {
		return u, err
	}
	u.Commits = s.Head.Sequence
	for _, f := range s.Files {
		folder, _, ok := workspace.SplitPath(f.Path)
		if _, isDocument := folder.Type(); isDocument {
			u.Documents++
		} else if ok {
			u.Schemas++
		}
	}
	for info, err := range w.stores.bucket.List(ctx, w.prefix()) {
		if err != nil {
			return u, err
		}
		u.Objects++
		u.Bytes += info.Size
	}
	packs, err := w.ledger.Packs(ctx)
	if err != nil {
		return u, err
	}
	u.Packs = len(packs)
	keys, err := w.Registry().Keys(ctx)
	for _, k := range keys {
		if k.RevokedAt.IsZero() {
			u.LiveKeys++
		}
	}
	return u, err
}
