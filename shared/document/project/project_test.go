package project

import (
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/documents"
)

// flagRow is a row of a list as its makers put it together.
func flagRow(d *document.Document, environments []document.Active, commit Commit) FlagSummary {
	outline := OutlineFlag(d)
	row := outline.FlagSummary
	row.Statuses, row.EnvironmentStatuses = outline.Lifecycles.Statuses(environments)
	row.Serves = outline.Servings.In(environments, time.Time{})
	row.Commit = commit
	return row
}

func configRow(d *document.Document, environments []document.Active, commit Commit) ConfigSummary {
	outline := OutlineConfig(d)
	row := outline.ConfigSummary
	row.Serves, row.Commit = outline.Servings.In(environments, time.Time{}), commit
	return row
}

func TestProjections(t *testing.T) {
	commit := Commit{"abc", &Modified{"2026-01-02T03:04:05Z", "Ada"}}
	environments := []document.Active{{Name: "staging"}, {Name: "production", Production: true}}
	rich := documents.Tree(t, `{"$schema":"s","key":"f","type":"feature_flag","valueType":"bool","name":"N","description":"D <b>","owner":"team-a","access":"support","tags":["a"],"readyForCleanup":false,`+
		`"default":{"rules":[`+documents.ServesFalse+`],"x":1},"environments":[{"id":"production","rules":[`+documents.TargetsPro+`,`+documents.ServesTrue+`],"x":1}],`+
		`"variants":[{"name":"on","value":{"type":"bool","value":true,"x":1.0}},{"description":"d","value":{"type":"bool","value":false}}],"sendToClientSdk":true,"schemaKey":"k"}`)
	bare := documents.Tree(t, `{"key":"c","type":"config","valueType":"int","default":null}`)
	for name, tt := range map[string]struct {
		got  any
		want string
	}{
		"flag row": {flagRow(document.View(rich), environments, commit),
			`{"key":"f","name":"N","description":"D <b>","owner":"team-a","valueType":"bool","tags":["a"],"readyForCleanup":false,` +
				`"statuses":{"production":"live"},"environmentStatuses":{"production":"live","staging":"pre_rollout"},` +
				`"serves":{"default":{"value":false},"production":{"value":true}},` +
				`"commitSha":"abc","lastModified":{"date":"2026-01-02T03:04:05Z","author":"Ada"}}`},
		"bare flag row": {flagRow(document.View(bare), environments, Commit{SHA: "abc"}),
			`{"key":"c","valueType":"int","tags":[],"readyForCleanup":false,"statuses":{},"environmentStatuses":{},"serves":{"default":{}},"commitSha":"abc"}`},
		"flag": {DetailFlag(rich, environments, commit, time.Time{}),
			`{"key":"f","name":"N","description":"D <b>","owner":"team-a","valueType":"bool","tags":["a"],"readyForCleanup":false,` +
				`"default":{"rules":[` + documents.ServesFalse + `]},"environments":[{"id":"production","rules":[` + documents.TargetsPro + `,` + documents.ServesTrue + `]}],` +
				`"variants":[{"name":"on","value":{"type":"bool","value":true,"x":1.0}},{"description":"d","value":{"type":"bool","value":false}}],` +
				`"environmentStatuses":{"production":"live","staging":"pre_rollout"},` +
				`"commitSha":"abc","lastModified":{"date":"2026-01-02T03:04:05Z","author":"Ada"}}`},
		"config row": {configRow(document.View(rich), environments, commit),
			`{"key":"f","name":"N","description":"D <b>","owner":"team-a","valueType":"bool","tags":["a"],"sendToClientSdk":true,"schemaKey":"k",` +
				`"serves":{"default":{"value":false},"production":{"value":true}},"commitSha":"abc","lastModified":{"date":"2026-01-02T03:04:05Z","author":"Ada"}}`},
		"bare config row": {configRow(document.View(bare), environments, Commit{SHA: "abc"}),
			`{"key":"c","valueType":"int","tags":[],"sendToClientSdk":false,"serves":{"default":{}},"commitSha":"abc"}`},
		"bare config": {DetailConfig(bare, Commit{SHA: "abc"}, time.Time{}),
			`{"key":"c","valueType":"int","tags":[],"readyForCleanup":false,"default":{"rules":[]},"environments":[],"variants":[],` +
				`"environmentStatuses":{},"commitSha":"abc","sendToClientSdk":false}`},
		"segment row":      {SummarizeSegment(document.View(rich), "abc"), `{"key":"f","name":"N","description":"D <b>","ruleCount":1,"commitSha":"abc"}`},
		"bare segment row": {SummarizeSegment(document.View(bare), "abc"), `{"key":"c","name":"","description":"","ruleCount":0,"commitSha":"abc"}`},
		"segment":          {DetailSegment(rich, "abc"), `{"key":"f","name":"N","default":{"rules":[` + documents.ServesFalse + `]},"commitSha":"abc"}`},
		"aliases are spelled out": {configRow(document.View(documents.Tree(t, `{"key":"c","valueType":"string-list"}`)), environments, Commit{SHA: "abc"}),
			`{"key":"c","valueType":"string_list","tags":[],"sendToClientSdk":false,"serves":{"default":{}},"commitSha":"abc"}`},
	} {
		if got := documents.Wire(t, tt.got); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

func TestLogLevelRow(t *testing.T) {
	const split = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"log_level","value":"INFO"},"weight":1}]}}}`
	tree := documents.Tree(t, documents.LevelDocument("com.acme.cart,web=DEBUG ? com=INFO *=WARN",
		`{"id":"production","rules":[`+documents.LevelRules("com=ERROR ?")+`]},{"id":"empty","rules":[]},{"id":"split","rules":[`+split+`]},{"id":"early","rules":[`+documents.LevelRules("*=INFO com=ERROR")+`]}`))
	const want = `{"key":"log-level.shop","tags":[],"scopes":[` +
		`{"scope":"default","fallbackLevel":"WARN","targets":[{"target":"com.acme.cart","level":"DEBUG"},{"target":"web","level":"DEBUG"},{"target":"com","level":"INFO"}],"otherRuleCount":1},` +
		`{"scope":"production","targets":[{"target":"com","level":"ERROR"}],"otherRuleCount":1},` +
		`{"scope":"empty","targets":[],"otherRuleCount":0},` +
		`{"scope":"split","targets":[],"otherRuleCount":1},` +
		`{"scope":"early","targets":[{"target":"com","level":"ERROR"}],"otherRuleCount":1}],` +
		`"commitSha":"abc","lastModified":"2026-01-02T03:04:05Z"}`
	if got := documents.Wire(t, SummarizeLogLevel(tree, "abc", "2026-01-02T03:04:05Z")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
