package feed

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/repository"
)

var bot = access.Principal{Type: access.PrincipalServiceAccount, ID: "ghjkmnpqrstvwxyz", Name: "Bot"}

func TestCommitMessage(t *testing.T) {
	toggle := activity.Message{Scope: "production", Message: "production: enabled set to true"}
	tags := activity.Message{Message: "tags: added web"}
	created := activity.Message{Message: `flag "checkout" created`}
	odd := activity.Message{Scope: "tags", Message: "tags: enabled set to true"}
	trailer := "\n\nSvc-Principal: service_account/ghjkmnpqrstvwxyz\n"
	for _, test := range []struct {
		name     string
		messages []activity.Message
		want     string
	}{
		{"one thing", []activity.Message{toggle}, "production: enabled set to true" + trailer},
		{"what names the key", []activity.Message{created}, `flag "checkout" created` + trailer},
		{"two things", []activity.Message{toggle, tags},
			"production: enabled set to true\n\ntags: added web" + trailer},
		{"a long one", []activity.Message{{Message: strings.Repeat("long ", 20) + "end"}, tags},
			strings.Repeat("long ", 14) + "l…\n\n" + strings.Repeat("long ", 20) + "end\ntags: added web" + trailer},
		{"an environment named like metadata", []activity.Message{odd},
			"tags: enabled set to true\n\n" +
				`Svc-Changes: [{"scope":"tags","message":"tags: enabled set to true"}]` + strings.Replace(trailer, "\n\n", "\n", 1)},
	} {
		if got := MessageOfOne(test.messages, bot); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
	// The repository adds the request's id to the trailers.
	stored := "production: enabled set to false" + trailer + "Request-Id: 0123456789abcdef0123456789abcdef\n"
	if got, ok := readMessages(stored, ""); !ok || len(got) != 1 || got[0].Message != "production: enabled set to false" {
		t.Errorf("%v", got)
	}
	if got := MessageOf(repository.Commit{Message: stored}); got != "production: enabled set to false" {
		t.Errorf("the message is shown as %q", got)
	}
	if got := MessageOf(repository.Commit{Message: "subject\n\nRequest-Id: a customer's\n"}); !strings.Contains(got, "customer") {
		t.Errorf("what is not ours is left out: %q", got)
	}
}

func TestMessagesSurviveTheCommit(t *testing.T) {
	words := rapid.StringMatching(`[a-zA-Z":,. é…-]{1,90}`)
	rapid.Check(t, func(rt *rapid.T) {
		key := rapid.StringMatching(`[A-Za-z0-9_-][A-Za-z0-9._-]{0,80}`).Draw(rt, "key")
		var messages []activity.Message
		for range rapid.IntRange(1, 4).Draw(rt, "count") {
			m := activity.Message{Scope: rapid.SampledFrom([]string{"", "default", "production", "tags", "Svc-Principal", "a b", key}).Draw(rt, "scope")}
			m.Message = strings.TrimSpace(words.Draw(rt, "words"))
			if rapid.Bool().Draw(rt, "quotes the key") {
				m.Message += ` "` + key + `"`
			}
			if m.Scope != "" {
				m.Message = m.Scope + ": " + m.Message
			}
			if m.Message != "" {
				messages = append(messages, m)
			}
		}
		if len(messages) == 0 {
			return
		}
		text := MessageOfOne(messages, bot)
		if got, ok := readMessages(text, ""); !ok || !slices.Equal(got, messages) {
			rt.Fatalf("%q\nread as %q\nfrom %s", messages, got, text)
		}
		if subject, _, _ := strings.Cut(text, "\n"); len([]rune(subject)) > 72 {
			rt.Fatalf("the subject is too long: %s", subject)
		}
	})
}

// Whatever a principal is called, git can write it.
func TestEveryAuthorCanSign(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := bot
		p.Name = rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \n<>\x00é.]{0,5}`), rapid.Just("\xff \xfe")).Draw(rt, "name")
		p.Email = rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \n<>@a]{0,5}`)).Draw(rt, "email")
		p.Type = rapid.SampledFrom([]access.PrincipalType{access.PrincipalUser, access.PrincipalServiceAccount}).Draw(rt, "type")
		s := Author(p)
		s.When = time.Unix(1_700_000_000, 0)
		if err := s.Check(); err != nil || s.Email == "" {
			rt.Fatalf("%q <%q>: %v", s.Name, s.Email, err)
		}
	})
}

func TestMessagesOfOthersAreNotReadAsOurs(t *testing.T) {
	for _, text := range []string{"", "Fix it", "Fix it\n\nproduction: enabled set to true", "Svc-Principal: user/x",
		"Fix it\n\nSvc-Principal: user/x\n\nSigned-off-by: me", "x\n\nSvc-Changes: [1]\nSvc-Principal: user/x"} {
		if messages, ok := readMessages(text, ""); ok {
			t.Errorf("%q is read as %q", text, messages)
		}
	}
}

func FuzzReadMessages(f *testing.F) {
	f.Add("checkout: production: on\n\nSvc-Principal: user/x")
	f.Add("x\n\na\nb\n\nSvc-Changes: []\nSvc-Principal: user/x")
	f.Add("\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if messages, ok := readMessages(text, ""); ok && len(messages) == 0 {
			t.Errorf("%q has no messages and is read all the same", text)
		}
	})
}
