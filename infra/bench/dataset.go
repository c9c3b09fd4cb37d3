package main

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

const flagFile = `{
  "key": "%[1]s",
  "type": "feature_flag",
  "valueType": "string",
  "access": "standard",
  "tags": ["bench"],
  "default": {
    "rules": [
      {"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["plan-%[2]d", "plan-%[3]d"]}}], "value": {"type": "string", "value": "by plan"}},
      {"criteria": [{"operator": "PROP_ENDS_WITH_ONE_OF", "propertyName": "user.email", "valueToMatch": {"type": "string_list", "value": ["@team%[2]d.example"]}}, {"operator": "PROP_IS_ONE_OF", "propertyName": "user.country", "valueToMatch": {"type": "string_list", "value": ["DE", "FR"]}}], "value": {"type": "string", "value": "by team"}},
      {"criteria": [{"operator": "PROP_GREATER_THAN", "propertyName": "user.orders", "valueToMatch": {"type": "int", "value": %[4]d}}], "value": {"type": "string", "value": "by orders"}},
      {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": %[5]s}
    ]
  },
  "environments": [],
  "variants": []
}
`

// writeFlags lays out a config directory of n flags with three targeting
// rules each; every tenth ends in a split.
func writeFlags(dir string, n int) error {
	folder := filepath.Join(dir, "feature-flags")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for i := range n {
		fallback := `{"type": "string", "value": "everyone else"}`
		if i%10 == 0 {
			fallback = `{"type": "weighted_values", "value": {"hashByPropertyName": "user.key", "weightedValues": [{"value": {"type": "string", "value": "a"}, "weight": 50000}, {"value": {"type": "string", "value": "b"}, "weight": 50000}]}}`
		}
		key := fmt.Sprintf("team%d.feature-%d", i%20, i)
		text := fmt.Sprintf(flagFile, key, i%50, (i+7)%50, i%100, fallback)
		if err := os.WriteFile(filepath.Join(folder, key+".json"), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "svc.json"), []byte("{\n  \"environments\": [\n    \"development\"\n  ]\n}\n"), 0o666)
}

// variety is how many contexts are prepared; each connection walks them from
// a place of its own, so that none comes twice in a row.
const variety = 4096

// polls are requests with a user's context each, another one in every request,
// ready to be written.
func polls(host string) [][]byte {
	requests := make([][]byte, variety)
	for i := range requests {
		user := fmt.Sprintf(`"key":"user-%d","plan":"plan-%d","email":"user-%d@team%d.example","country":"%s","orders":%d`,
			i, i%60, i, i%60, []string{"DE", "US", "FR"}[i%3], i%120)
		token := base64.StdEncoding.EncodeToString([]byte(`{"user":{` + user + `}}`))
		requests[i] = fmt.Appendf(nil, "GET /api/v2/configs/eval-with-context/%s HTTP/1.1\r\nHost: %s\r\nOrigin: http://localhost:3000\r\n\r\n", url.PathEscape(token), host)
	}
	return requests
}

// bulks are the same as OFREP bulk evaluations.
func bulks(host string) [][]byte {
	requests := make([][]byte, variety)
	for i := range requests {
		body := fmt.Sprintf(`{"context":{"targetingKey":"user-%d","user.plan":"plan-%d","user.email":"user-%d@team%d.example","user.country":"%s","user.orders":%d}}`,
			i, i%60, i, i%60, []string{"DE", "US", "FR"}[i%3], i%120)
		requests[i] = fmt.Appendf(nil, "POST /ofrep/v1/evaluate/flags HTTP/1.1\r\nHost: %s\r\nOrigin: http://localhost:3000\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
	}
	return requests
}
