package ledgertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/testing/must"
)

// RunAudit runs the part of the suite that is about the audit trail. Open
// returns the registry of a new workspace, for edits by Ada.
func RunAudit(t *testing.T, open func(t *testing.T) *access.Registry) {
	for name, test := range map[string]func(*auditBench){
		"every edit is told":                      toldEdits,
		"what changes nothing is not told":        untoldEdits,
		"of edits at the same time each is told":  concurrentEdits,
		"what was told is never told differently": steadyTrail,
	} {
		t.Run(name, func(t *testing.T) { test(newAuditBench(t, open(t))) })
	}
}

type auditBench struct {
	*testing.T
	*access.Registry
	ada access.Principal
}

func newAuditBench(t *testing.T, r *access.Registry) *auditBench {
	b := &auditBench{T: t, Registry: r}
	b.ada = access.Principal{Type: access.PrincipalUser, ID: b.id(1), Name: "Ada", Email: "ada@acme.example", Roles: []string{"engineer"}}
	return b
}

func (b *auditBench) id(n int) access.ID { return access.ID(fmt.Sprintf("%016d", n)) }

func (b *auditBench) ensure(p access.Principal) {
	b.Helper()
	_, _, err := b.EnsurePrincipal(background, p)
	must.Do(b, err)
}

// issue issues a key and returns its record.
func (b *auditBench) issue(q access.KeyRequest) access.KeyRecord {
	b.Helper()
	_, _, err := b.IssueKey(background, q)
	must.Do(b, err)
	keys := must.Get(b.Keys(background))(b)
	return keys[len(keys)-1]
}

// words are the trail as a person reads it.
func (b *auditBench) words() []string {
	b.Helper()
	entries := must.Get(b.Audit(background, 0))(b)
	var words []string
	for _, event := range audit.Events(entries, nil, 0) {
		words = append(words, event.Words())
		if event.By != "Ada" || time.Since(event.At).Abs() > time.Hour {
			b.Errorf("told to be by %q at %v", event.By, event.At)
		}
	}
	return words
}

func (b *auditBench) editAll() (laptop, web access.KeyRecord) {
	b.Helper()
	b.ensure(b.ada)
	laptop = b.issue(access.KeyRequest{Kind: access.KindUser, Name: "laptop", Email: b.ada.Email})
	must.Do(b, b.SetRoles(background, b.ada.ID, []string{"support", "admin"}))
	must.Do(b, b.SetRoles(background, b.ada.ID, nil))
	must.Do(b, b.SetDisabled(background, b.ada.ID, true))
	must.Do(b, b.SetDisabled(background, b.ada.ID, false))
	name := "Ada Lovelace"
	must.Do(b, b.Rename(background, b.ada.ID, &name, nil))
	must.Do(b, b.Rename(background, b.ada.ID, &b.ada.Name, nil))
	must.Get(b.RevokeKey(background, laptop.ID, time.Now()))(b)
	web = b.issue(access.KeyRequest{Kind: access.KindPublicSDK, Name: "web", Environment: "production", Expires: 24 * time.Hour})
	must.Do(b, b.SetWorkspace(background, func(w *access.Workspace) { w.BillingInactive = true }))
	must.Do(b, b.Note(background, access.Change{Action: access.ReviewBypassed, Subject: "production", After: []string{"production"}}))
	must.Do(b, b.Note(background, access.Change{Action: access.RequestApproved, Subject: "12", Name: "Launch"}))
	return laptop, web
}

func toldEdits(b *auditBench) {
	w := must.Get(b.Workspace(background))(b)
	laptop, web := b.editAll()
	want := []string{
		"user added: Ada (0000000000000001), engineer",
		fmt.Sprintf("user key made: laptop (%s)", laptop.ID),
		"roles of Ada (0000000000000001): support, admin, before engineer",
		"roles of Ada (0000000000000001): none, before support, admin",
		"disabled: Ada (0000000000000001)",
		"enabled: Ada (0000000000000001)",
		"Ada Lovelace (0000000000000001) is called: Ada Lovelace, " + b.ada.Email + ", before Ada, " + b.ada.Email,
		"Ada (0000000000000001) is called: Ada, " + b.ada.Email + ", before Ada Lovelace, " + b.ada.Email,
		fmt.Sprintf("user key revoked: laptop (%s)", laptop.ID),
		fmt.Sprintf("service account added: applications (%s), none", web.PrincipalID),
		fmt.Sprintf("public SDK key made: web (%s), environment production, until %s", web.ID, web.ExpiresAt.Format(time.RFC3339)),
		fmt.Sprintf("workspace: name %[1]s, billing inactive, before name %[1]s", w.Name),
		"a change was made without the approvals that it needs in production",
		"change request approved: #12 Launch",
	}
	if got := b.words(); !slices.Equal(got, want) {
		b.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	entries := must.Get(b.Audit(background, 0))(b)
	text := must.Get(json.Marshal(entries))(b)
	if digest := must.Get(laptop.Digest.MarshalText())(b); strings.Contains(string(text), string(digest)) || strings.Contains(string(text), "igest") {
		b.Errorf("the trail holds a digest: %s", text)
	}
}

func untoldEdits(b *auditBench) {
	b.ensure(b.ada)
	before := b.words()
	must.Do(b, b.SetRoles(background, b.ada.ID, b.ada.Roles))
	must.Do(b, b.SetDisabled(background, b.ada.ID, false))
	must.Do(b, b.SetWorkspace(background, func(*access.Workspace) {}))
	b.ensure(b.ada)
	if b.SetRoles(background, b.ada.ID, []string{"emperor"}) == nil || b.SetRoles(background, b.id(9), nil) == nil {
		b.Error("an edit that is wrong was taken")
	}
	if after := b.words(); !slices.Equal(before, after) || len(after) != 1 {
		b.Errorf("%v", after)
	}
}

func concurrentEdits(b *auditBench) {
	const most = 8
	var all sync.WaitGroup
	for n := range most {
		all.Go(func() {
			p := access.Principal{Type: access.PrincipalServiceAccount, ID: b.id(n), Name: fmt.Sprintf("bot %d", n), Roles: []string{}}
			if _, _, err := b.EnsurePrincipal(background, p); err != nil {
				b.Error(err)
			}
			ci := access.Principal{Type: access.PrincipalServiceAccount, ID: b.id(100 + n), Name: "ci", Roles: []string{}}
			if _, _, err := b.EnsurePrincipal(background, ci); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	words := b.words()
	slices.Sort(words)
	if len(slices.Compact(words)) != most+1 { // one of them has made ci
		b.Errorf("%v", words)
	}
	entries := must.Get(b.Audit(background, 0))(b)
	for i := 1; i < len(entries); i++ {
		if entries[i].Version <= entries[i-1].Version {
			b.Errorf("version %d comes after %d", entries[i].Version, entries[i-1].Version)
		}
	}
}

func steadyTrail(b *auditBench) {
	b.editAll()
	before := must.Get(b.Audit(background, 0))(b)
	must.Do(b, b.SetDisabled(background, b.ada.ID, true))
	after := must.Get(b.Audit(background, 0))(b)
	was := must.Get(json.Marshal(before))(b)
	if is := must.Get(json.Marshal(after[:len(before)]))(b); len(after) != len(before)+1 || string(was) != string(is) {
		b.Errorf("before %s\nafter %s", was, is)
	}
}
