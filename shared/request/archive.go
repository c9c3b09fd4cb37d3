package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/table"
)

// archived is a line of an archive.
type archived struct {
	Sort string          `json:"sk"`
	Row  json.RawMessage `json:"row"`
}

// Archive writes all rows of a workspace down, a line of JSON each, while others go on: what
// was ended meanwhile may be there as open too, and what happened later has no row of events.
func (s Store) Archive(ctx context.Context, workspace string, to io.Writer) error {
	lines := json.NewEncoder(to)
	for _, folder := range []string{openFolder, doneFolder, eventFolder, onceFolder, countRow} {
		err := s.Table.Query(ctx, table.Query{Partition: partition(workspace), Low: folder, High: folder + "/~"}, func(row table.Row) (bool, error) {
			return true, lines.Encode(archived{row.Sort, table.Encode(row.Attributes)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove removes all of a workspace.
func (s Store) Remove(ctx context.Context, workspace string) error {
	return table.Clear(ctx, s.Table, table.Query{Partition: partition(workspace), Only: []string{"sequence"}})
}

// Restore writes what Archive has written down, under a workspace that has no requests.
func (s Store) Restore(ctx context.Context, workspace string, from io.Reader) error {
	open := map[string]access.ID{}
	c := count{open: map[access.ID]int{}}
	put := func(sort string, row table.Attributes) table.Write {
		return table.Write{Key: table.Key{Partition: partition(workspace), Sort: sort}, Put: row}
	}
	var writes []table.Write
	flush := func() error {
		err := s.Table.Batch(ctx, writes)
		writes = nil
		return err
	}
	err := eachArchived(from, func(sort string, row table.Attributes) error {
		folder, number, _ := strings.Cut(sort, "/")
		n, _ := strconv.ParseInt(number, 10, 64)
		// What is open may be deleted by what comes behind it.
		held := len(writes)
		if held >= restoredAtOnce || folder != openFolder && held > 0 && strings.HasPrefix(writes[held-1].Sort, openFolder+"/") {
			if err := flush(); err != nil {
				return err
			}
		}
		writes = append(writes, put(sort, row))
		switch folder {
		case openFolder:
			r, err := requestOf(table.Row{Attributes: row})
			if err != nil {
				return err
			}
			open[number], c.last = r.Author.ID, max(c.last, n)
		case doneFolder:
			c.last = max(c.last, n)
			if _, twice := open[number]; twice {
				delete(open, number)
				writes = append(writes, table.Write{Key: table.Key{Partition: partition(workspace), Sort: openFolder + "/" + number}, Delete: true})
			}
		case eventFolder:
			c.sequence = max(c.sequence, n)
		case countRow:
			for _, author := range open {
				c.open[author]++
			}
			row["sequence"], row["last"] = table.Number(max(c.sequence, row.Number("sequence"))), table.Number(max(c.last, row.Number("last")))
			row["open"] = encode(c.open)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// restoredAtOnce is how many rows are collected before they are written: of the largest
// there may be, some 10 MB.
const restoredAtOnce = 25

// CheckArchive says what is wrong with what Archive has written down.
func CheckArchive(from io.Reader) error {
	return eachArchived(from, func(string, table.Attributes) error { return nil })
}

func eachArchived(from io.Reader, each func(sort string, row table.Attributes) error) error {
	lines := json.NewDecoder(from)
	for {
		var line archived
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		folder, _, _ := strings.Cut(line.Sort, "/")
		switch folder {
		case countRow, openFolder, doneFolder, eventFolder, onceFolder:
		default:
			return fmt.Errorf("there is no such row of change requests: %.80q", line.Sort)
		}
		row, err := table.Decode(line.Row)
		if err != nil {
			return err
		}
		if err := each(line.Sort, row); err != nil {
			return err
		}
	}
}
