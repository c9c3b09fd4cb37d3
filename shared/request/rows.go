package request

import (
	"context"
	"slices"
	"time"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/workspace"
)

// Row is a request as lists have it.
type Row struct {
	ID           string        `json:"id"`
	State        State         `json:"state"`
	Title        string        `json:"title"`
	Author       Person        `json:"author"`
	CreatedAt    time.Time     `json:"createdAt"`
	UpdatedAt    time.Time     `json:"updatedAt"`
	ExpiresAt    *time.Time    `json:"expiresAt"` // null: never
	Items        []Item        `json:"items"`     // the first so many that it touches
	ItemCount    int           `json:"itemCount"`
	Approvals    []ApprovalRow `json:"approvals"`
	CommentCount int           `json:"commentCount"`
	EndedBy      *Person       `json:"endedBy"` // who applied or closed it
	EndedAt      *time.Time    `json:"endedAt"`
	CommitSHA    *string       `json:"commitSha"` // of one that was applied
}

// Item is one that a request touches.
type Item struct {
	Type document.Type `json:"type"`
	Key  string        `json:"key"`
}

// ApprovalRow is an approval. Counts and Why are told where the request is looked at.
type ApprovalRow struct {
	By     Person    `json:"by"`
	At     time.Time `json:"at"`
	Digest string    `json:"digest"`
	Counts *bool     `json:"counts,omitempty"`
	Why    string    `json:"why,omitempty"` // it does not count
}

// Detail is a request and, as long as it is open, what it would do now.
type Detail struct {
	Row
	Description *string        `json:"description,omitempty"`
	Operations  *jsontree.Node `json:"operations,omitempty"`
	Comments    []Comment      `json:"comments,omitzero"`
	Preview     *PreviewDetail `json:"preview,omitempty"`
}

// PreviewDetail is what a request would do now.
type PreviewDetail struct {
	// Digest is what an approval is for; null where Conflict says why nothing can be done.
	Digest       *string                  `json:"digest"`
	Conflict     *fault.Envelope          `json:"conflict"`
	Results      []change.OperationResult `json:"results"`
	Warnings     []document.Issue         `json:"warnings"`
	Impact       change.Impact            `json:"impact,omitzero"`
	Requirements []Requirement            `json:"requirements"`
	Approved     bool                     `json:"approved"` // whoever may make the change may apply it
	// Changed are the items that changed since it was proposed, of those that it touches
	// and those that they name.
	Changed []Item `json:"changedSince"`
}

// List is a page of requests.
type List struct {
	Requests   []Row  `json:"changeRequests"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Query asks for requests.
type Query struct {
	feed.PageQuery
	State, Author, Type, Key string
}

const (
	maxItems     = 100
	defaultLimit = 50
)

func (d *Desk) row(r *Request) Row {
	row := Row{ID: ID(r.Number), State: d.stateOf(r), Title: r.Title, Author: r.Author, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Items: items(r.Touched[:min(len(r.Touched), maxItems)]), ItemCount: len(r.Touched), Approvals: []ApprovalRow{}, CommentCount: len(r.Comments)}
	if !r.ExpiresAt.IsZero() {
		row.ExpiresAt = &r.ExpiresAt
	}
	for _, a := range r.Approvals {
		row.Approvals = append(row.Approvals, ApprovalRow{By: a.By, At: a.At, Digest: a.Digest})
	}
	if r.Ended != nil {
		row.EndedBy, row.EndedAt = &r.Ended.By, &r.Ended.At
	}
	if r.Commit != "" {
		row.CommitSHA = &r.Commit
	}
	return row
}

func items(paths []string) []Item {
	all := []Item{}
	for _, path := range paths {
		if folder, key, ok := workspace.SplitPath(path); ok {
			all = append(all, Item{folder.ItemType(), key})
		}
	}
	return all
}

// detail is a request as one that is looked at.
func (d *Desk) detail(ctx context.Context, r *Request, a *change.Assessment) (*Detail, error) {
	row := d.row(r)
	operations, err := jsontree.Parse([]byte(r.Operations))
	if err != nil {
		return nil, err
	}
	detail := &Detail{Row: row, Description: &r.Description, Operations: operations, Comments: append([]Comment{}, r.Comments...)}
	if a == nil {
		return detail, nil
	}
	counted, err := d.count(ctx, r, a.Decided)
	if err != nil {
		return nil, err
	}
	p := &PreviewDetail{Results: []change.OperationResult{}, Warnings: []document.Issue{}, Requirements: counted.requirements, Approved: true, Changed: []Item{}}
	for _, q := range counted.requirements {
		p.Approved = p.Approved && q.Given >= q.Approvals
	}
	for i, why := range counted.why {
		counts := why == ""
		detail.Approvals[i].Counts, detail.Approvals[i].Why = &counts, why
	}
	if r.Parts != nil {
		for _, name := range moved(r.Parts, a.Parts) {
			p.Changed = append(p.Changed, items([]string{name})...)
		}
	}
	if a.Refused != nil {
		envelope := fault.Of(a.Refused).Envelope()
		p.Conflict, p.Approved = &envelope, false
	} else {
		p.Digest, p.Results, p.Impact = &a.Digest, a.Result.Results, a.Result.Impact
		p.Warnings = append(p.Warnings, a.Result.Warnings...)
		for i := range p.Results {
			if p.Results[i].Messages == nil {
				p.Results[i].Messages = []activity.Message{}
			}
		}
	}
	detail.Preview = p
	return detail, nil
}

// moved are the parts of two digests that differ, by name.
func moved(then, now map[string]string) []string {
	var names []string
	for name := range now {
		if then[name] != now[name] {
			names = append(names, name)
		}
	}
	for name := range then {
		if _, there := now[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// List lists requests: open ones first, those that were made last before the others.
func (d *Desk) List(ctx context.Context, q Query) (*List, error) {
	cursors := feed.Cursors{Workspace: d.Workspace}
	bounds, issues := cursors.Bounds("change-requests", q.PageQuery)
	if (q.Type == "") != (q.Key == "") {
		issues = append(issues, document.Issue{Pointer: "?key", Message: "type and key name an item together"})
	}
	open, below := true, int64(0)
	if bounds.After != "" {
		if open = bounds.After[0] == 'o'; Number(bounds.After[1:]) == 0 {
			issues = append(issues, feed.NotOurs)
		}
		below = Number(bounds.After[1:])
	}
	if err := refusal.Malformed(issues...); err != nil {
		return nil, err
	}
	limit := bounds.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	list := &List{Requests: []Row{}}
	for ; ; open, below = false, 0 {
		if wanted := q.State == "" || open == (State(q.State) == Open || State(q.State) == Expired) || State(q.State) == Applied; wanted {
			full := false
			err := d.Store.List(ctx, d.Workspace.ID, open, below, func(r *Request) (bool, error) {
				if full {
					folder := "d"
					if open {
						folder = "o"
					}
					list.NextCursor = cursors.To("change-requests", folder+ID(r.Number+1))
					return false, nil
				}
				r, err := d.settled(ctx, r)
				if err == nil && d.matches(r, q) {
					list.Requests = append(list.Requests, d.row(r))
				}
				full = len(list.Requests) == limit
				return err == nil, err
			})
			if err != nil || list.NextCursor != "" {
				return list, failed(err)
			}
			if full && open && q.State == "" {
				list.NextCursor = cursors.To("change-requests", "d"+ID(lastNumber))
				return list, nil
			}
		}
		if !open {
			return list, nil
		}
	}
}

// lastNumber is more than any request has.
const lastNumber = 9_999_999_999

func (d *Desk) matches(r *Request, q Query) bool {
	if q.State != "" && d.stateOf(r) != State(q.State) || q.Author != "" && q.Author != string(r.Author.ID) && q.Author != r.Author.Name {
		return false
	}
	path, _ := workspace.PathOf(document.Type(q.Type), q.Key)
	return q.Type == "" || slices.Contains(r.Touched, path)
}
