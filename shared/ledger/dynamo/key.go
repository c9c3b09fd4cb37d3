package dynamo

import (
	"fmt"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/table"
)

type item = table.Row

func keyOf(partition, sort string) table.Key { return table.Key{Partition: partition, Sort: sort} }

func rowOf(k table.Key) item { return item{Key: k, Attributes: table.Attributes{}} }

// The partitions.
const workspacesPartition = "workspaces"

func accessPartition(ws access.ID) string { return "access/" + string(ws) }
func auditPartition(ws access.ID) string  { return "audit/" + string(ws) }
func indexPartition(ws access.ID) string  { return "index/" + string(ws) }
func headKey(ws access.ID) table.Key      { return keyOf("head/"+string(ws), "head") }
func principalKey(ws, id access.ID) table.Key {
	return keyOf(accessPartition(ws), "principal/"+string(id))
}
func accessKeyKey(ws, id access.ID) table.Key   { return keyOf(accessPartition(ws), "key/"+string(id)) }
func oncePartition(ws access.ID) string         { return "once/" + string(ws) }
func onceKey(ws access.ID, id string) table.Key { return keyOf(oncePartition(ws), id) }
func queuePartition(ws access.ID) string        { return "queue/" + string(ws) }
func packsKey(ws access.ID) table.Key           { return keyOf("packs/"+string(ws), "packs") }
func pendingSort(index, sha string) string      { return pendingPrefix + index + "/" + sha }

// rows names the partitions of one index.
type rows struct {
	workspace access.ID
	index     string
}

func (r rows) log() string  { return "log/" + string(r.workspace) + "/" + r.index }
func (r rows) ids() string  { return "ids/" + string(r.workspace) + "/" + r.index }
func (r rows) rest() string { return "rest/" + string(r.workspace) + "/" + r.index }

// partsOf asks for all touches of a commit that are too many for its row, however
// many there are to be.
func (r rows) partsOf(sha string) table.Query {
	return table.Query{Partition: r.rest(), Low: sha + "/", High: sha + "0"} // 0 comes after /
}

func (r rows) item(path string) string {
	return "item/" + string(r.workspace) + "/" + r.index + "/" + path
}

// withoutTexts are the attributes of a row of the log without its texts.
var withoutTexts = []string{"c", "x", "n", "p"}

// place is the sort key of a commit's rows.
func place(sequence int64, sha string) string { return first(sequence) + sha }

// first is the lower bound of the sort keys of a sequence, last the upper one.
func first(sequence int64) string { return fmt.Sprintf("%012d/", sequence) }
func last(sequence int64) string  { return fmt.Sprintf("%012d0", sequence) } // 0 comes after /
