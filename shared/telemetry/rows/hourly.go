package rows

import (
	"context"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

// admit leaves the contexts and shapes in the batch that the hour takes, and
// counts in one request what of them is new.
func (r *recording) admit(ctx context.Context) (err error) {
	known := map[table.Key]typesInUse{}
	read := func(at table.Key) {
		if known[at] == nil && err == nil {
			known[at], err = typesOf(r.found[at])
		}
	}
	for _, c := range r.batch.Contexts {
		read(r.keys.contextTypes(c.Environment))
	}
	if read(r.keys.shapeTypes()); err != nil {
		return err
	}
	isKnown := func(at table.Key, contextType string) bool {
		_, there := known[at][contextType]
		return there
	}
	all := r.batch
	take := func(before telemetry.Hourly) {
		r.news, r.batch.Contexts, r.batch.Shapes = before, nil, nil
		for _, c := range all.Contexts {
			if r.news.TakeContext(c, r.found[r.keys.context(c)] == nil, !isKnown(r.keys.contextTypes(c.Environment), c.Type)) {
				r.batch.Contexts = append(r.batch.Contexts, c)
			}
		}
		for _, s := range all.Shapes {
			if isKnown(r.keys.shapeTypes(), s.Type) || r.news.TakeType(s.Type) {
				r.batch.Shapes = append(r.batch.Shapes, s)
			}
		}
	}
	at := r.keys.newInHour(all)
	before := hourlyOf(r.found[at])
	take(before)
	keys, types := r.news.Keys-before.Keys, r.news.Types-before.Types
	if keys == 0 && types == 0 {
		return nil
	}
	counted, err := r.table.Update(ctx, table.Write{Key: at, Add: map[string]int64{attrN: int64(keys), attrNewTypes: int64(types)},
		Set: table.Attributes{attrExpires: table.Until(all.Received.AddDate(0, 0, 1))}})
	if err != nil {
		return err
	}
	is := hourlyOf(counted)
	if is.Keys, is.Types = is.Keys-keys, is.Types-types; is.Keys != before.Keys || is.Types != before.Types {
		take(is) // others took some meanwhile
	}
	return nil
}

// hourlyOf reads what was new in an hour so far.
func hourlyOf(row table.Attributes) telemetry.Hourly {
	return telemetry.Hourly{Keys: int(row.Number(attrN)), Types: int(row.Number(attrNewTypes))}
}
