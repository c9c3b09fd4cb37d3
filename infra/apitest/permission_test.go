package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/apiload"
)

// declared are the environments of the matrix' workspaces.
var declared = map[string]string{
	"guarded": `{"environments": [{"name": "production", "protected": true}, "staging"]}`,
	"open":    `{"environments": ["staging", "development"]}`,
}

// matrix is what package access is held to, by workspace: the rows' columns
// under the names in their heading.
func matrix(t *testing.T) (rows map[string][]map[string]string, roles []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "shared", "access", "testdata", "matrix.txt"))
	must(t, err)
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	heading := strings.Fields(lines[0])
	rows = map[string][]map[string]string{}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Fields(line) {
			row[heading[i]] = cell
		}
		rows[row["workspace"]] = append(rows[row["workspace"]], row)
	}
	return rows, heading[4:]
}

// TestThePermissionMatrix lets every role try every row of the matrix on the
// hosted service, by single writes and by change sets.
func TestThePermissionMatrix(t *testing.T) {
	t.Run("alone", func(t *testing.T) { testThePermissionMatrix(t, false) })
	t.Run("in change sets", func(t *testing.T) { testThePermissionMatrix(t, true) })
}

func testThePermissionMatrix(t *testing.T, changeSets bool) {
	rows, roles := matrix(t)
	for workspace, file := range declared {
		t.Run(workspace, func(t *testing.T) {
			files := map[string]string{"svc.json": file}
			for _, row := range rows[workspace] {
				files[apiload.PathOf("flags", flagOf(row))] = apiload.Canonical(tiered(row))
				files[apiload.PathOf("configs", holderOf(row))] = apiload.Canonical(withTier(row, "config", holderOf(row)))
			}
			files[apiload.PathOf("configs", borrower)] = apiload.Canonical(borrowing(nil, ""))
			h := create(t, files, 0)
			api, err := h.New(background(t), nil, slog.New(slog.DiscardHandler))
			must(t, err)
			p := &permitted{T: t, api: api, changeSets: changeSets, reader: h.issueKey(t, "reader", "reader@example.com", "member"),
				boss: h.issueKey(t, "boss", "boss@example.com", "protected_engineer")}
			for _, role := range roles {
				p.key = h.issueKey(t, role, role+"@example.com", role)
				for _, row := range rows[workspace] {
					p.try(role, row)
					p.revert(role, row)
					p.impact(role, row)
					p.manifest(role, row)
					p.borrow(role, row, standardRow(rows[workspace], row["scope"]))
				}
			}
			if p.allowed == 0 || p.denied == 0 {
				t.Errorf("%d writes were allowed and %d denied", p.allowed, p.denied)
			}
			t.Logf("%d writes allowed, %d denied", p.allowed, p.denied)
		})
	}
}

func flagOf(row map[string]string) string { return "flag" + strings.ReplaceAll(row["tier"], "-", "_") }

func tiered(row map[string]string) apiload.Object { return withTier(row, "feature_flag", flagOf(row)) }

func withTier(row map[string]string, documentType, key string) apiload.Object {
	document := apiload.NewDocument(documentType, "string", key, "", apiload.ValueOf("string", "untouched"))
	if delete(document, "access"); row["tier"] != "-" {
		document["access"] = row["tier"]
	}
	return document
}

// holderOf is the config of a row's tier that holds a decryption key, and
// borrower one of the tier standard that takes it.
func holderOf(row map[string]string) string { return "key" + strings.ReplaceAll(row["tier"], "-", "_") }

const borrower = "borrower"

// borrowing is the borrower's document with a value in a scope.
func borrowing(value apiload.Object, scope string) apiload.Object {
	document := apiload.NewDocument("config", "string", borrower, "", apiload.ValueOf("string", "untouched"))
	rules := []any{apiload.Object{"criteria": []any{apiload.Object{"operator": "ALWAYS_TRUE"}}, "value": value}}
	switch scope {
	case "":
	case "default":
		document["default"] = apiload.Object{"rules": rules}
	case "metadata":
		document["variants"] = []any{apiload.Object{"value": value}}
	default:
		document["environments"] = []any{apiload.Object{"id": scope, "rules": rules}}
	}
	return document
}

// standardRow is what a role may do to a document of the tier standard.
func standardRow(rows []map[string]string, scope string) map[string]string {
	i := slices.IndexFunc(rows, func(row map[string]string) bool { return row["tier"] == "standard" && row["scope"] == scope })
	return rows[i]
}

// permitted is who tries the matrix.
type permitted struct {
	*testing.T
	api             http.Handler
	changeSets      bool
	reader, key     string
	boss            string
	serial          int
	allowed, denied int
}

// ask sends a request and returns the answer's status and body.
func (p *permitted) ask(key, method, path string, body apiload.Object) (status int, answer apiload.Object) {
	p.Helper()
	if p.changeSets && method != "GET" {
		path, body = changing(method, path, body)
		method = "POST"
	}
	var text []byte // of a deletion none
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		must(p, err)
	}
	if !strings.HasPrefix(path, "/openfeature/") {
		path = "/v1" + path
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(text))
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	p.api.ServeHTTP(w, r)
	must(p, json.Unmarshal(w.Body.Bytes(), &answer))
	return w.Code, answer
}

// changing is a write of a flag or a config as a change set.
func changing(method, path string, body apiload.Object) (string, apiload.Object) {
	path, query, _ := strings.Cut(path, "?")
	parts := strings.Split(path, "/") // "", flags, key, and what is done
	operation := apiload.Object{"type": map[string]string{"flags": "feature_flag", "configs": "config"}[parts[1]], "key": parts[2]}
	maps.Copy(operation, body)
	switch {
	case method == "PATCH":
		operation = apiload.Object{"type": operation["type"], "key": parts[2], "op": "patch", "environment": parts[4], "body": body}
	case method == "PUT":
		operation["op"] = "put"
	case method == "DELETE":
		operation["op"] = "delete"
	default:
		operation["op"] = "revert"
	}
	return "/changes?" + query, apiload.Object{"operations": []any{operation}}
}

// try lets a role change what a row speaks of, and looks at what came of it.
func (p *permitted) try(role string, row map[string]string) {
	p.Helper()
	path := "/flags/" + flagOf(row)
	_, before := p.ask(p.reader, "GET", path+"/document", nil)
	p.serial++
	mark := fmt.Sprint("mark ", p.serial)
	status, answer := 0, apiload.Object{}
	if row["scope"] == "metadata" {
		document := before["document"].(apiload.Object)
		document["description"] = mark
		status, answer = p.ask(p.key, "PUT", path+"/document", apiload.Object{"document": document, "expectedCommitSha": before["commitSha"]})
	} else {
		status, answer = p.ask(p.key, "PATCH", path+"/environments/"+row["scope"], apiload.Object{"value": mark})
	}
	_, after := p.ask(p.reader, "GET", path+"/document", nil)
	may := row[role] == "y"
	details, _ := answer["details"].(apiload.Object)
	switch {
	case may && row["tier"] == "typo" && row["scope"] == "metadata":
		if p.allowed++; status != http.StatusBadRequest || details["code"] != "VALIDATION_FAILED" { // nobody keeps a tier that there is not
			p.Errorf("%s may write %v and got %d %v", role, row, status, answer)
		}
	case may:
		p.allowed++
		if status != http.StatusOK || after["commitSha"] != answer["commitSha"] || !strings.Contains(apiload.Canonical(after["document"]), mark) {
			p.Errorf("%s may write %v and got %d %v", role, row, status, answer)
		}
	case status != http.StatusForbidden || details["code"] != "PERMISSION_DENIED" || details["required"] != row["required"]:
		p.Errorf("%s may not write %v and got %d %v", role, row, status, answer)
	case after["commitSha"] != before["commitSha"]:
		p.Errorf("%s may not write %v, and it was written", role, row)
	default:
		p.denied++
	}
}

// revert lets a role take back what another has changed, and delete what it may
// write all of: each needs what the write itself does.
func (p *permitted) revert(role string, row map[string]string) {
	p.Helper()
	path := "/flags/" + flagOf(row)
	demand := func(what string, status int, answer apiload.Object) {
		details, _ := answer["details"].(apiload.Object)
		switch {
		case row[role] == "y":
			if p.allowed++; status != http.StatusOK {
				p.Errorf("%s may %s %v and got %d %v", role, what, row, status, answer)
			}
		case status != http.StatusForbidden || details["code"] != "PERMISSION_DENIED" || details["required"] != row["required"]:
			p.Errorf("%s may not %s %v and got %d %v", role, what, row, status, answer)
		default:
			p.denied++
		}
	}
	if row["scope"] == "metadata" {
		status, answer := p.ask(p.key, "DELETE", path+"?dryRun=true", nil)
		demand("delete", status, answer)
		return
	}
	p.serial++
	status, changed := p.ask(p.boss, "PATCH", path+"/environments/"+row["scope"], apiload.Object{"value": fmt.Sprint("mark ", p.serial)})
	if status != http.StatusOK {
		p.Fatalf("%v: %d %v", row, status, changed)
	}
	reversion := apiload.Object{"mode": "undo", "commitSha": changed["commitSha"]}
	status, answer := p.ask(p.key, "POST", path+"/revert", reversion)
	demand("undo", status, answer)
	status, answer = p.ask(p.boss, "POST", path+"/revert", reversion)
	if status != http.StatusOK || answer["changed"] != (row[role] != "y") {
		p.Errorf("back again: %d %v", status, answer)
	}
}

// impact lets a role ask what a write would do to saved contexts, which needs what the
// write does; and forget somebody, which needs what metadata of the tier standard does.
func (p *permitted) impact(role string, row map[string]string) {
	p.Helper()
	demand := func(what string, want, status int, answer apiload.Object) {
		details, _ := answer["details"].(apiload.Object)
		switch {
		case row[role] == "y":
			if p.allowed++; status != want {
				p.Errorf("%s may %s %v and got %d %v", role, what, row, status, answer)
			}
		case status != http.StatusForbidden || details["code"] != "PERMISSION_DENIED" || details["required"] != row["required"] || answer["impact"] != nil:
			p.Errorf("%s may not %s %v and got %d %v", role, what, row, status, answer)
		default:
			p.denied++
		}
	}
	path := "/flags/" + flagOf(row)
	if row["scope"] == "metadata" {
		status, answer := p.ask(p.key, "DELETE", path+"?dryRun=true&impact=true", nil)
		demand("see the impact of deleting", http.StatusOK, status, answer)
		if row["tier"] == "standard" && !p.changeSets { // which forget nobody
			status, answer := p.ask(p.key, "DELETE", "/contexts/user/nobody", nil)
			demand("forget somebody, as", http.StatusNotFound, status, answer)
		}
		return
	}
	status, answer := p.ask(p.key, "PATCH", path+"/environments/"+row["scope"]+"?dryRun=true&impact=true", apiload.Object{"value": "other"})
	demand("see the impact on", http.StatusOK, status, answer)
}

// borrow lets a role have its own document decrypt with a config of a row's
// tier: it needs what editing both needs.
func (p *permitted) borrow(role string, row, own map[string]string) {
	p.Helper()
	path := "/configs/" + borrower + "/document"
	_, before := p.ask(p.reader, "GET", path, nil)
	p.serial++
	value := apiload.ValueOf("string", fmt.Sprint("ciphertext ", p.serial))
	value["decryptWith"] = holderOf(row)
	status, answer := p.ask(p.key, "PUT", path, apiload.Object{"document": borrowing(value, row["scope"]), "expectedCommitSha": before["commitSha"]})
	_, after := p.ask(p.reader, "GET", path, nil)
	details, _ := answer["details"].(apiload.Object)
	required := row["required"]
	if own[role] != "y" {
		required = own["required"]
	}
	switch {
	case own[role] == "y" && row[role] == "y":
		if p.allowed++; status != http.StatusOK || after["commitSha"] != answer["commitSha"] {
			p.Errorf("%s may decrypt with %v and got %d %v", role, row, status, answer)
		}
		if status, answer := p.ask(p.boss, "PUT", path, apiload.Object{"document": before["document"], "expectedCommitSha": after["commitSha"]}); status != http.StatusOK {
			p.Errorf("back again: %d %v", status, answer)
		}
	case status != http.StatusForbidden || details["code"] != "PERMISSION_DENIED" || details["required"] != required:
		p.Errorf("%s may not decrypt with %v and got %d %v", role, row, status, answer)
	case after["commitSha"] != before["commitSha"]:
		p.Errorf("%s may not decrypt with %v, and it was written", role, row)
	default:
		p.denied++
	}
}
