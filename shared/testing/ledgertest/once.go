package ledgertest

import (
	"strings"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// landed is what is found under an id of a repository.Once.
func (b *bench) landed(id string) *repository.Landed {
	b.Helper()
	entry, err := b.Authenticator.Authenticate(background, b.key, id)
	must.Do(b, err)
	return entry.Landed
}

func madeOnce(b *bench) {
	id := func(digit string) string { return strings.Repeat(digit, 32) }
	like := id("a")[:31] + "b" // found in the same place as the first
	made := map[string]repository.Commit{}
	write := func(name, request string) {
		b.once = &repository.Once{ID: name, Request: request, Answer: []byte("answer " + request)}
		made[name] = b.advance(map[string]string{first: name + request})
		b.once = nil
		b.advance(map[string]string{first: "after " + name + request})
	}
	b.advance(map[string]string{first: "before"})
	write(id("a"), id("1"))
	write(like, id("2"))
	write(id("c"), id("3"))
	check := func(b *bench, name, request string) {
		b.Helper()
		found, want := b.landed(name), made[name]
		if found == nil || found.Commit != want.SHA || found.Sequence != want.Sequence || found.Request != request || string(found.Answer) != "answer "+request ||
			found.Until.Unix() != want.Committer.When.Add(change.Remembered).Unix() {
			b.Errorf("under %s: %+v, want %s at %d for %s", name, found, want.SHA, want.Sequence, request)
		}
	}
	other := *b
	other.Subject = b.Reopen(b)
	for _, b := range []*bench{b, &other} {
		check(b, id("a"), id("1"))
		check(b, like, id("2"))
		check(b, id("c"), id("3"))
		for _, none := range []string{"", id("d"), id("1")} {
			if found := b.landed(none); found != nil {
				b.Errorf("under %q: %+v, want nothing", none, found)
			}
		}
	}
	b.Subject = other.Subject
	b.once = &repository.Once{ID: id("a"), Request: id("4"), Answer: []byte("answer " + id("4")), Instead: made[id("a")].SHA}
	made[id("a")] = b.advance(map[string]string{first: "anew"})
	check(b, id("a"), id("4"))
}
