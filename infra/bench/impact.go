package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"svc.example/svc/shared/impact"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/local"
)

const (
	savedContexts = 10_000
	segmentUsers  = 50 // flags
)

// impacts measures dry runs that tell what a write does to saved contexts, beside
// those that do not, in a workspace of 1,000 flags.
func (b bench) impacts() error {
	work, err := os.MkdirTemp("", "svc-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	config := filepath.Join(work, "config")
	if err := writeFlags(config, middling.documents); err != nil {
		return err
	}
	if err := writeSegment(config); err != nil {
		return err
	}
	p := &server{content: middling, data: filepath.Join(work, "data")}
	if _, _, err := p.begin(b.svc, "/healthz", "--import", config); err != nil {
		return err
	}
	defer p.stop()
	if err := p.issueKey(b.svc); err != nil {
		return err
	}
	if err := p.saveContexts(); err != nil {
		return err
	}
	head, err := p.document("/v1/segments/team")
	if err != nil {
		return err
	}
	fmt.Printf("svc api: a dry run, and the impact on %s saved contexts\n\n%-44s %12s %12s %8s\n", grouped(savedContexts), "", "dry run", "with impact", "target")
	for _, row := range []struct{ name, method, path, body, target string }{
		{"one flag", "PATCH", "/v1/flags/" + flagKey(55) + "/environments/development", `{"value": "new"}`, "100 ms"},
		{fmt.Sprintf("a segment that %d flags use", segmentUsers), "PUT", "/v1/segments/team/document",
			fmt.Sprintf(`{"expectedCommitSha": %q, "document": %s}`, head, segment("plan-2")), "2 s"},
	} {
		var took [2][]time.Duration
		for range 4 * b.rounds {
			for i, query := range []string{"?dryRun=true", "?dryRun=true&impact=true"} {
				begin := time.Now()
				a, err := once(p.host, request(row.method, p.host, row.path+query, p.key, row.body))
				took[i] = append(took[i], time.Since(begin))
				if err == nil {
					err = counted(a, i == 1)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", row.name, err)
				}
			}
		}
		fmt.Printf("%-44s %12s %12s %8s\n", row.name, brief(median(took[0])), brief(median(took[1])), row.target)
	}
	return nil
}

// counted checks that all contexts were looked at.
func counted(a answer, withImpact bool) error {
	var told struct {
		Impact map[string]impact.Environment
	}
	err := json.Unmarshal(a.body, &told)
	if e := told.Impact["development"]; err == nil && (a.status != 200 || withImpact && (!e.Complete || e.Contexts != savedContexts || e.Changed == 0)) {
		err = fmt.Errorf("status %d: %.300s", a.status, a.body)
	}
	return err
}

func segment(plan string) string {
	return `{"key": "team", "type": "segment", "valueType": "bool", "default": {"rules": [{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["` + plan + `"]}}], "value": {"type": "bool", "value": true}}]}}`
}

// writeSegment adds a segment, and flags that use it.
func writeSegment(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "segments"), 0o777); err != nil {
		return err
	}
	for i := range segmentUsers {
		key := fmt.Sprintf("segmented-%d", i)
		text := fmt.Sprintf(`{"key": %q, "type": "feature_flag", "valueType": "string", "default": {"rules": [`+
			`{"criteria": [{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "team"}}], "value": {"type": "string", "value": "in"}},`+
			`{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.country", "valueToMatch": {"type": "string_list", "value": ["DE"]}}], "value": {"type": "string", "value": "de-%d"}},`+
			`{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "out"}}]}}`, key, i)
		if err := os.WriteFile(filepath.Join(dir, "feature-flags", key+".json"), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "segments", "team.json"), []byte(segment("plan-1")), 0o666)
}

// saveContexts saves as many contexts as an environment has of a type.
func (p *server) saveContexts() error {
	a, err := once(p.host, p.get("/whoami"))
	if err != nil {
		return err
	}
	var who struct{ WorkspaceID string }
	if err := json.Unmarshal(a.body, &who); err != nil {
		return err
	}
	store, now := local.New(p.data), time.Now().UTC()
	for begin := 0; begin < savedContexts; begin += 1000 {
		batch := telemetry.Batch{ID: [32]byte{byte(begin / 1000)}, Received: now}
		for i := begin; i < begin+1000; i++ {
			batch.Contexts = append(batch.Contexts, telemetry.Saved{Environment: "development", Type: "user", Key: fmt.Sprint("user-", i), LastSeen: now,
				Properties: []telemetry.Property{
					{Name: "key", Kind: telemetry.String, Text: fmt.Sprint("user-", i)},
					{Name: "name", Kind: telemetry.String, Text: fmt.Sprint("Person ", i)},
					{Name: "email", Kind: telemetry.String, Text: fmt.Sprintf("user-%d@team%d.example", i, i%50)},
					{Name: "plan", Kind: telemetry.String, Text: fmt.Sprint("plan-", i%10)},
					{Name: "country", Kind: telemetry.String, Text: "DE"},
					{Name: "orders", Kind: telemetry.Int, Text: fmt.Sprint(i % 100)}}})
		}
		if _, err := store.Record(context.Background(), who.WorkspaceID, batch); err != nil {
			return err
		}
	}
	return nil
}

// document asks for an item, and returns the commit that touched it last.
func (p *server) document(path string) (commit string, err error) {
	a, err := once(p.host, request("GET", p.host, path+"/document", p.key, ""))
	if err != nil {
		return "", err
	}
	var told struct{ CommitSHA string }
	err = json.Unmarshal(a.body, &told)
	return told.CommitSHA, err
}
