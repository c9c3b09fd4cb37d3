// Package dynamo is the ledger of many workspaces in one DynamoDB table: their
// heads and histories, keys and principals.
//
// # The table
//
// It has the keys pk (hash) and sk (range), both strings, is paid by request,
// and has no secondary index. <n> is a sequence in 12 digits.
//
//	pk                     sk                 what it is
//	workspaces             <ws>               the workspace's name, for lists
//	head/<ws>              head               record, head, access version
//	access/<ws>            principal/<id>     a principal
//	access/<ws>            key/<id>           a key: its digest, never itself
//	audit/<ws>             <n>                what an edit of the above did, by whom
//	used/<ws>              <key's id>         the day on which it was used last; of a person's sessions, by the principal's id
//	once/<ws>              <id>               the request that a commit was made for
//	queue/<ws>             <n>-<random>       a write that waits, see repository.Queue
//	log/<ws>/<ix>          <n>/<sha>          a commit: touches, small texts
//	ids/<ws>/<ix>          <sha>              its sequence, for abbreviations
//	item/<ws>/<ix>/<path>  <n>/<sha>          what it did to one file
//	rest/<ws>/<ix>         <sha>/<part>       touches that were too many for a row
//	index/<ws>             <ix>               a set of rows begun, see Import
//	index/<ws>             pending/<ix>/<sha> a large commit begun, see Advance
//	packs/<ws>             packs              the packs that compaction has made
//
// and these attributes:
//
//	format N   the format of the workspace; none is 1, and 0 is    head
//	           one that is being restored, which nobody takes
//	restoring S who restores it; none else writes it               head
//	fence N    how often a sweep was begun; none is 0             head
//	name S, secret B, billingInactive BOOL, provisioning BOOL     head
//	commit S, sequence N, access N, index S                       head
//	baseName S, baseSequence N, baseFollow N, baseBytes N         head
//	versions B the commit, a space, and the versions of its        head
//	           environments (versions.Stored); what names another
//	           commit tells nothing
//	turn S     whose turn it is to move it, see repository.Queue   head
//	recent S   JSON: the principals and keys changed lately        head
//	doc S      JSON: the principal or the record of the key        access
//	doc S      JSON: an audit.Entry; n is the access version       audit
//	version N  the access version of the row's last change         access
//	made N     the one of its first                                access
//	d S        a day, like 2026-11-22                              used
//	c S        the commit                                          once
//	q S, a B   what was asked for, and the answer (repository.Once) once
//	n N, i S   its sequence, in the index i                        once
//	expires N  when the row counts no more, in seconds             once, queue
//	t S        drawn when the write came into the queue            queue
//	w B        what others can decide for its owner, by zstd       queue
//	c B        the commit (repository.AppendCommit), by zstd when  log, item
//	           its first byte is zstd's
//	b B        the texts of its touches, by zstd                   log
//	x B        shifts: files that differ from the row before       log
//	           and that the commit did not touch (merges)
//	n N        how many rows of touches follow in rest             log
//	p S        the pack of the commit (log) or of the blob (item)  log, item
//	o N, l N   where the blob lies in it                           item
//	u BOOL     written before the commit landed                    item
//	f N        the fence that who wrote it had read                index, item, rest
//	g N        the compaction that placed it, or that came last    item, log, packs
//	s BOOL     a shift, and no part of the history                 item
//	n N        the sequence                                        ids
//
// Only rows of once and queue expire: the table's time to live removes them. Until it
// has, those of once count for nothing, by the table's own clock, and those of queue
// cost the next writer that has to wait a second or two each. The secret in the head signs
// cursors; a request reads it in Authenticate alone, and not there in a table
// WithoutSecret.
//
// What a row holds beyond that, or a document of doc, is a newer version's and
// stays: rows that are there are changed by update expressions that name single
// attributes, and never put as a whole that was read before. A head of a newer
// format is refused (repository.ErrNewer), and nothing of its workspace is read
// or changed; that it became one meanwhile is a condition of every change.
//
// # What must stay true
//
//   - The head moves in one transaction, on condition of commit, sequence,
//     access version, fence, index and base. The rows of the commit are written in the
//     same transaction, so that the rows of writers that lost do not exist.
//     Those of a commit with too many of them (a transaction holds 100) are
//     written before, marked with u and keyed by their commit. Who reads one
//     looks for the commit's row in ids, which only the transaction writes.
//   - The head names an index. Rows of an index that no head names are
//     invisible: a history is imported, or its rows are rebuilt, by writing a
//     new index and letting the head name it, in one conditional step. An index
//     that was named is only added to.
//   - Nothing is removed that a head names, or can come to name, and no clock
//     decides it. Sweep is told what was left over before the fence was raised.
//     Who began to write that read the fence before; the head, or the list of
//     packs, has come to name it by now, or never will, since both change only
//     on condition of the fence that their writer read first. A large commit
//     that begins again has the same rows under the same keys; they tell its
//     new fence, and a row is removed only on condition that it is an old one.
//   - At every moment the packs row and the log after it name packs that hold
//     all objects: a compaction names the new pack, on condition of the fence,
//     before it takes old ones off the list.
//   - Every change of the record, a principal or a key raises the access
//     version in the same transaction. Authenticate reads key, principal and
//     head in one request, and no transaction keeps these reads together. So the head
//     tells for a minute what was changed: a row older than that was read too
//     early, and all are read again. An attempt to read ends after seconds. The
//     minute is the table's own, counted from when a later change met it.
//   - A row of once is written in the transaction that moves the head to its
//     commit, on condition that there is none, or the very one that was read and
//     counts no more. Nobody removes one but the table.
//   - A row of queue is removed in the transaction that commits its write or sends it
//     back, in the one that gives its owner the turn, or by its owner, on condition of
//     its token. Rows and turn make writers wait, and nothing else: the head moves on
//     the conditions above in every turn.
//   - A workspace that is restored is of the format 0 until its last step, which is one
//     transaction, and before that only who is named in it writes to it.
//   - A row of audit is written in the transaction of the edit that it tells
//     of, and never again.
//   - An answer that got lost says nothing about what it would have said. As
//     long as no attempt of an Advance had that fate, a busy table is ErrBusy.
//     Afterwards the token that all attempts carry, or else the head, tells how
//     it ended.
//   - No request scans, and only administration and maintenance read more rows
//     than what they are asked for.
//
// # What it costs
//
//	Authenticate        1 BatchGetItem, strongly consistent; a row of once with it
//	Advance             1 TransactWriteItems; 100 rows and more: those before it
//	waiting in a queue  1 TransactWriteItems, and 1 BatchGetItem each 20 to 60 ms; who
//	                    has the turn, 1 Query more, for all that it commits
//	Since               1 Query (the base of the head sees to it)
//	History             1 Query per MB
//	At                  2 Query: the abbreviation, the item's row
//	a change of access  1 GetItem, 1 Query, 1 TransactWriteItems
//	MarkUsed            1 UpdateItem: for a key, a day and an instance, beside
//	                    a request and not in its way
package dynamo
