package postgres_test

import (
	"testing"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/tabletest"
)

func TestTable(t *testing.T) {
	one, other := open(t, "public"), open(t, "public")
	tabletest.Run(t, func(t *testing.T) func() table.Table {
		schema := newSchema(t)
		must.Do(t, one.In(schema).Migrate(t.Context()))
		first := true
		return func() table.Table {
			if first {
				first = false
				return one.In(schema)
			}
			return other.In(schema)
		}
	})
}
