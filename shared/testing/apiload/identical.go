package apiload

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// OneWinner sends the same request to several instances of a service at the
// same moment, with the same key, round after round: a write with a token, one
// without, and a creation. Of each, exactly one is the commit, whatever the
// requests have in common.
func OneWinner(t testing.TB, client *http.Client, bases []string, key string, rounds int) {
	t.Helper()
	for round := range rounds {
		var seen struct{ CommitSHA string }
		Get(t, client, bases[0], key, "/flags/"+boolFlag+"/document", &seen)
		on := round%2 == 0
		for _, o := range []*Operation{
			{Kind: Toggle, Family: "flags", Key: boolFlag, Scope: "production", Enabled: on, Token: seen.CommitSHA},
			{Kind: Toggle, Family: "flags", Key: boolFlag, Scope: "staging", Enabled: on},
			{Kind: Create, Family: "flags", Key: fmt.Sprint("contested-", round), Description: "the same for all"},
		} {
			answers := atOnce(t, client, bases, key, o)
			winners := 0
			for _, a := range answers {
				if (Record{Op: o, Answer: a}).wrote() {
					winners++
				}
			}
			if winners != 1 {
				t.Errorf("round %d: %d of %d identical requests were told to be the commit, want 1: %s: %v", round, winners, len(answers), o, answers)
			}
		}
	}
}

// atOnce sends a request to all instances and reads their answers.
func atOnce(t testing.TB, client *http.Client, bases []string, key string, o *Operation) []*Answer {
	t.Helper()
	answers := make([]*Answer, len(bases))
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i, base := range bases {
		all.Go(func() {
			<-begin
			status, body, err := SendOnce(context.Background(), client, base+"/v1", key, o)
			if err == nil {
				answers[i], err = o.Read(status, body)
			}
			if err != nil {
				t.Error(err)
				answers[i] = &Answer{Open: true, Reason: err.Error()}
			}
		})
	}
	close(begin)
	all.Wait()
	return answers
}
