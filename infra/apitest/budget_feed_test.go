package apitest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// filtered: what a filter of the feed takes is bounded, however little passes.
func (b *budgets) filtered() {
	api := b.instance()
	b.asks(api, "GET", "/v1/activity?environment=staging&limit=1", "")
	const limit, searched = 20, 16 // requests for the pages of some 5,000 commits
	for _, filter := range []string{"author=nobody", "until=2001-01-01T00:00:00Z", "since=2101-01-01T00:00:00Z", "author=Grace", "environment=production", "environment=staging&author=ada@example.com"} {
		asked, _, text := b.asks(api, "GET", fmt.Sprintf("/v1/activity?limit=%d&%s", limit, filter), "")
		var page struct {
			Activity []struct {
				Type                    *string
				AuthorName, AuthorEmail string
				Messages                []struct{ Scope string }
			}
		}
		must(b, json.Unmarshal([]byte(text), &page))
		name, value, _ := strings.Cut(filter, "=")
		for _, e := range page.Activity {
			scopes := fmt.Sprint(e.Messages)
			if name != "author" && name != "environment" || name == "author" && e.AuthorName != value || name == "environment" && e.Type != nil && !strings.Contains(scopes, "{"+strings.Split(value, "&")[0]+"}") {
				b.Errorf("a page of the feed with %s has %+v", filter, e)
			}
		}
		if (filter == "author=Grace" || name == "environment") && len(page.Activity) == 0 {
			b.Errorf("a page of the feed with %s is empty", filter)
		}
		most := searched
		if filter == "author=Grace" || filter == "environment=production" { // git has made some of them
			most += limit * maxCompared
		}
		if asked["BatchGetItem"] != 1 || asked["Query"]+asked["GetObject"] > most || asked["GetObject"] > 2*limit || len(asked) > 3 {
			b.Errorf("a page of the feed with %s took %v; allowed are 1 BatchGetItem and %d more", filter, asked, most)
		}
		b.Logf("a page of the feed with %s took %v", filter, asked)
	}
}
