package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/telemetry"
)

// roster is the context types that there are rows of, and the hour in which
// each was last in a batch. An hour is enough to tell which is in use, and
// keeps a type that is always in use from being written with every batch.
type roster map[string]int64

// rosterOf reads a roster's row.
func rosterOf(row item) (roster, error) {
	r := roster{}
	if doc := text(row, attrRoster); doc != "" {
		if err := json.Unmarshal([]byte(doc), &r); err != nil {
			return nil, fmt.Errorf("reading which context types there are: %w", err)
		}
	}
	return r, nil
}

// see notes types that are in a batch. Beyond the number that there may be, the
// one that was longest in no batch makes room, those of this batch last. Gone
// are those that were there before.
func (r roster) see(names []string, hour int64, most int) (gone []string, changed bool) {
	before, late := maps.Clone(r), map[string]bool{}
	for _, name := range names {
		late[name] = true
		if last, known := r[name]; !known || last < hour {
			r[name], changed = hour, true
		}
	}
	if len(r) <= most {
		return nil, changed
	}
	all := slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		switch {
		case late[a] != late[b] && late[b]:
			return -1
		case late[a] != late[b]:
			return 1
		}
		return cmp.Or(cmp.Compare(r[a], r[b]), strings.Compare(a, b))
	})
	for _, name := range all[:len(all)-most] {
		delete(r, name)
		if _, known := before[name]; known {
			gone = append(gone, name)
		}
	}
	return gone, true
}

// enroll notes the types of a batch in a roster, and says which of all types
// there are then, and which have made room.
func (r *recording) enroll(ctx context.Context, at address, environment string, names []string, most int) (is roster, gone []string, err error) {
	row := r.found[at]
	for try := 0; ; try++ {
		if is, err = rosterOf(row); err != nil {
			return nil, nil, err
		}
		if len(row) == 0 {
			r.inherit(is, at, environment)
		}
		var changed bool
		if gone, changed = is.see(names, r.batch.Hour(), most); !changed {
			return is, gone, nil
		}
		doc, err := json.Marshal(is)
		if err != nil {
			return nil, nil, err
		}
		version := integer(row, attrVersion)
		_, err = r.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.table,
			Item:                      at.with(item{attrRoster: str(string(doc)), attrOwner: str(environment), attrVersion: number(version + 1)}),
			ConditionExpression:       aws.String("attribute_not_exists(pk) OR version = :v"),
			ExpressionAttributeValues: item{":v": number(version)}})
		if err == nil {
			return is, gone, nil
		}
		if !isRefused(err) {
			return nil, nil, failure(ctx, "noting what contexts there are", err)
		}
		if err := pause(ctx, try); err != nil {
			return nil, nil, err
		}
		again, err := r.rows(ctx, []address{at})
		if err != nil {
			return nil, nil, err
		}
		row = again[at]
	}
}

// inherit takes the types over that an earlier version has noted.
func (r *recording) inherit(is roster, at address, environment string) {
	before := r.found[r.room.before()]
	if at == r.room.shapeRoster() {
		for name := range set(before, attrTypes) {
			var parts [1]string
			if json.Unmarshal([]byte(name), &parts) == nil {
				is[parts[0]] = 0
			}
		}
		return
	}
	for name := range set(before, attrGroups) {
		var group [2]string
		if json.Unmarshal([]byte(name), &group) == nil && group[0] == environment {
			is[group[1]] = 0
		}
	}
}

// group is the contexts of an environment and a type, and the hour in which
// they were last in a batch.
type group struct {
	environment, contextType string
	hour                     int64
}

// groups are those that a search may look at, the one in use last first.
func (s *Store) groups(ctx context.Context, r room, m telemetry.Matcher) ([]group, error) {
	found := map[[2]string]int64{}
	err := s.each(ctx, "reading what contexts there are", r.known(), func(row item) error {
		if text(row, attrSK) == r.before().sk {
			for name := range set(row, attrGroups) {
				var parts [2]string
				if err := json.Unmarshal([]byte(name), &parts); err != nil {
					return err
				}
				found[parts] = max(found[parts], 0)
			}
			return nil
		}
		if text(row, attrSK) == r.shapeRoster().sk {
			return nil
		}
		is, err := rosterOf(row)
		for contextType, hour := range is {
			found[[2]string{text(row, attrOwner), contextType}] = hour
		}
		return err
	})
	var list []group
	for parts, hour := range found {
		if m.Group(parts[0], parts[1]) {
			list = append(list, group{parts[0], parts[1], hour})
		}
	}
	slices.SortFunc(list, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.hour, a.hour), strings.Compare(a.environment, b.environment), strings.Compare(a.contextType, b.contextType))
	})
	return list, err
}

// admitNew says how many of so many contexts that are new the hour still takes.
func (r *recording) admitNew(ctx context.Context, n int) (int, error) {
	at := r.room.newKeys(r.batch.Hour())
	if n == 0 || integer(r.found[at], attrN) >= telemetry.MaxNewKeys {
		return 0, nil
	}
	out, err := r.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &r.table, Key: at.key(),
		UpdateExpression: aws.String("ADD n :n SET expires = :expires"), ReturnValues: types.ReturnValueUpdatedNew,
		ExpressionAttributeValues: item{":n": number(int64(n)), ":expires": until(r.batch.Received.AddDate(0, 0, 1))}})
	if err != nil {
		return 0, failure(ctx, "counting new contexts", err)
	}
	before := int(integer(out.Attributes, attrN)) - n
	return max(0, min(n, telemetry.MaxNewKeys-before)), nil
}
