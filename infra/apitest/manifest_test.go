package apitest

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"svc.example/svc/shared/testing/apiload"
)

const manifestFlags = "/openfeature/v0/manifest/flags"

// manifests: what the OpenFeature CLI asks costs what the same read or write of a flag
// costs.
func (b *budgets) manifests() {
	b.Helper()
	api := b.instance()
	b.asks(api, "GET", "/openfeature/v0/manifest", "")
	usual := map[string]int{"BatchGetItem": 1, "PutObject": 2, "TransactWriteItems": 1}
	read := map[string]int{"BatchGetItem": 1}
	path := manifestFlags + "/from-the-cli"
	for _, c := range []struct {
		method, path, body string
		want               map[string]int
	}{
		{"POST", manifestFlags, `{"key": "from-the-cli", "type": "boolean", "defaultValue": true}`, usual},
		{"PUT", path, `{"key": "from-the-cli", "type": "boolean", "description": "Changed", "defaultValue": false}`, usual},
		{"PUT", path, `{"key": "from-the-cli", "type": "boolean", "description": "Changed", "defaultValue": false}`, read},
		{"DELETE", path, "", usual},
	} {
		asked, inARow, _ := b.asks(api, c.method, c.path, c.body)
		if asked["PutObject"] > 2 {
			asked["PutObject"] = 2 // now and then there is a snapshot to put
		}
		if !maps.Equal(asked, c.want) || inARow > 4 {
			b.Errorf("%s %s took %v, %d in a row; allowed are %v", c.method, c.path, asked, inARow, c.want)
		}
	}
}

// manifest lets a role write through the OpenFeature CLI's API what a row speaks of:
// it needs what the single write needs.
func (p *permitted) manifest(role string, row map[string]string) {
	p.Helper()
	if p.changeSets || row["scope"] != "default" && row["scope"] != "metadata" {
		return // no change set has them, and they reach no environment by itself
	}
	key := flagOf(row)
	demand := func(what string, want, status int, answer apiload.Object) {
		refusal, _ := answer["error"].(apiload.Object)
		message, _ := refusal["message"].(string)
		switch {
		case row[role] == "y":
			if p.allowed++; status != want {
				p.Errorf("%s may %s %v and got %d %v", role, what, row, status, answer)
			}
		case status != http.StatusForbidden || !strings.Contains(message, row["required"]) || !strings.Contains(apiload.Canonical(refusal), "PERMISSION_DENIED"):
			p.Errorf("%s may not %s %v and got %d %v", role, what, row, status, answer)
		default:
			p.denied++
		}
	}
	p.serial++
	mark := fmt.Sprint("mark ", p.serial)
	_, stored := p.ask(p.reader, "GET", "/flags/"+key, nil)
	body := apiload.Object{"key": key, "type": "string", "description": stored["description"]}
	if row["scope"] == "default" {
		body["defaultValue"] = mark
	} else {
		body["description"] = mark
	}
	status, answer := p.ask(p.key, "PUT", manifestFlags+"/"+key, body)
	demand("change in the manifest", http.StatusOK, status, answer)
	_, after := p.ask(p.reader, "GET", "/flags/"+key, nil)
	if strings.Contains(apiload.Canonical(after), mark) != (row[role] == "y") {
		p.Errorf("%s changed %v in the manifest: %v", role, row, after)
	}
	if row["scope"] == "default" {
		return
	}
	if row["tier"] == "standard" { // which new flags are of
		created := fmt.Sprint("created-", p.serial)
		status, answer = p.ask(p.key, "POST", manifestFlags, apiload.Object{"key": created, "type": "string", "defaultValue": mark})
		demand("create in the manifest", http.StatusCreated, status, answer)
	}
	if row["tier"] == "typo" && row[role] == "y" {
		return // nothing of a tier that there is not comes back
	}
	status, answer = p.ask(p.key, "DELETE", manifestFlags+"/"+key, nil)
	demand("delete from the manifest", http.StatusOK, status, answer)
	if status != http.StatusOK {
		return
	}
	_, feed := p.ask(p.reader, "GET", "/activity?limit=1", nil)
	commit := feed["activity"].([]any)[0].(apiload.Object)["sha"]
	if status, answer := p.ask(p.boss, "POST", "/flags/"+key+"/revert", apiload.Object{"mode": "undo", "commitSha": commit}); status != http.StatusOK {
		p.Errorf("back again: %d %v", status, answer)
	}
}
