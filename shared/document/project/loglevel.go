package project

import (
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// LogLevelRow is a log-level document in the list: what is stored, not what
// level a given logger has.
type LogLevelRow struct {
	Key          string       `json:"key"`
	Tags         []string     `json:"tags"`
	Scopes       []ScopeEntry `json:"scopes"`
	CommitSHA    string       `json:"commitSha"`
	LastModified string       `json:"lastModified,omitempty"` // "": not attributed
}

// ScopeEntry is one scope's levels. An environment that has no entry inherits
// the default scope's.
type ScopeEntry struct {
	Scope string `json:"scope"`
	// FallbackLevel is "" when the scope has no catch-all.
	FallbackLevel string        `json:"fallbackLevel,omitempty"`
	Targets       []LoggerLevel `json:"targets"`
	// OtherRuleCount counts the rules that the two fields above do not show.
	OtherRuleCount int `json:"otherRuleCount"`
}

// LoggerLevel is the level of the loggers whose path begins with Target.
type LoggerLevel struct {
	Target string `json:"target"`
	Level  string `json:"level"`
}

// SummarizeLogLevel projects a log-level document onto its row of the list:
// the default scope, then each environment that has an entry.
func SummarizeLogLevel(tree *jsontree.Node, commitSHA, lastModified string) LogLevelRow {
	d := document.View(tree)
	row := LogLevelRow{Key: d.Key, Tags: some(d.Tags), CommitSHA: commitSHA, LastModified: lastModified}
	row.Scopes = append(row.Scopes, levelsOf(document.DefaultScope, document.StoredRules(tree.Get("default"))))
	for _, e := range storedEnvironments(tree, time.Time{}) {
		row.Scopes = append(row.Scopes, levelsOf(e.ID, e.Rules))
	}
	return row
}

func levelsOf(scope string, rules []*jsontree.Node) ScopeEntry {
	entry := ScopeEntry{Scope: scope, Targets: []LoggerLevel{}}
	for i, rule := range rules {
		level := document.PlainLevel(rule.Get("value"))
		prefixes := document.LoggerTargets(rule)
		switch {
		case level != "" && document.StoredCatchAll(rule) && i == len(rules)-1:
			entry.FallbackLevel = level
		case level != "" && prefixes != nil:
			for _, prefix := range prefixes {
				entry.Targets = append(entry.Targets, LoggerLevel{prefix, level})
			}
		default:
			entry.OtherRuleCount++
		}
	}
	return entry
}
