package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/telemetry"
)

// admit leaves the contexts and shapes in the batch that the hour takes, and
// counts in one request what of them is new.
func (r *recording) admit(ctx context.Context) (err error) {
	known := map[address]typesInUse{}
	read := func(at address, environment string) {
		if known[at] == nil && err == nil {
			known[at], err = r.typesAt(at, environment, r.found[at])
		}
	}
	for _, c := range r.batch.Contexts {
		read(r.keys.contextTypes(c.Environment), c.Environment)
	}
	if read(r.keys.shapeTypes(), ""); err != nil {
		return err
	}
	isKnown := func(at address, contextType string) bool {
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
	counted, err := r.table.Write(ctx, "counting what is new in the hour", r.table.Update(at.key(),
		expression.Add(expression.Name(attrN), expression.Value(keys)).
			Add(expression.Name(attrNewTypes), expression.Value(types)).
			Set(expression.Name(attrExpires), expression.Value(until(all.Received.AddDate(0, 0, 1))))))
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
func hourlyOf(row dynamo.Item) telemetry.Hourly {
	return telemetry.Hourly{Keys: int(dynamo.NumberOf(row, attrN)), Types: int(dynamo.NumberOf(row, attrNewTypes))}
}
