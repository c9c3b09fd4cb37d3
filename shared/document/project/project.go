// Package project is what readers of the API see of documents: the rows of
// lists, and the details of one item.
package project

import (
	"encoding/json"
	"slices"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Modified says who wrote the commit that a projection names, and when.
type Modified struct {
	Date   string `json:"date"`
	Author string `json:"author"`
}

// Date writes a time as all answers do.
func Date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Commit is what a projection says of the last commit that touched the
// document. The caller knows it; no document holds it.
type Commit struct {
	SHA          string    `json:"commitSha"`
	LastModified *Modified `json:"lastModified,omitempty"` // nil: not attributed
}

// Date is when it was committed; "" where nobody knows.
func (c Commit) Date() string {
	if c.LastModified == nil {
		return ""
	}
	return c.LastModified.Date
}

// Item is what is shown of every flag and config.
type Item struct {
	Key         string             `json:"key"`
	Name        string             `json:"name,omitempty"`
	Description string             `json:"description,omitempty"`
	Owner       string             `json:"owner,omitempty"`
	ValueType   document.ValueType `json:"valueType"`
	Tags        []string           `json:"tags"`
}

func itemOf(d *document.Document) Item {
	return Item{d.Key, d.Name, d.Description, d.Owner, d.ValueType.Canonical(), some(d.Tags)}
}

// FlagSummary is a row of the list of flags.
type FlagSummary struct {
	Item
	ReadyForCleanup     bool                          `json:"readyForCleanup"`
	Statuses            map[string]document.Lifecycle `json:"statuses"`
	EnvironmentStatuses map[string]document.Lifecycle `json:"environmentStatuses"`
	Serves              json.RawMessage               `json:"serves"` // a Serving by its scope
	Timed
	Commit
}

// FlagOutline is what the rows of a flag are made of, for a caller that does not keep the
// flag itself: a row without commit and what depends on the environments, and what tells that.
type FlagOutline struct {
	FlagSummary
	document.Lifecycles
	Servings
}

// OutlineFlag makes a flag's outline.
func OutlineFlag(d *document.Document) FlagOutline {
	return FlagOutline{
		FlagSummary{
			Item:            itemOf(d),
			ReadyForCleanup: d.ReadyForCleanup,
		},
		document.LifecyclesOf(d),
		ServingsOf(d),
	}
}

// ConfigSummary is a row of the list of configs.
type ConfigSummary struct {
	Item
	ReadyForCleanup bool            `json:"readyForCleanup,omitempty"`
	SendToClientSDK bool            `json:"sendToClientSdk"`
	SchemaKey       string          `json:"schemaKey,omitempty"`
	Serves          json.RawMessage `json:"serves"`
	Timed
	Commit
}

// ConfigOutline is to a config what FlagOutline is to a flag.
type ConfigOutline struct {
	ConfigSummary
	Servings
}

// OutlineConfig makes a config's outline.
func OutlineConfig(d *document.Document) ConfigOutline {
	return ConfigOutline{
		ConfigSummary{
			Item:            itemOf(d),
			ReadyForCleanup: d.ReadyForCleanup,
			SendToClientSDK: d.SendToClientSDK,
			SchemaKey:       d.SchemaKey,
		},
		ServingsOf(d),
	}
}

// RuleList is an object with rules as they are stored.
type RuleList struct {
	Rules []*jsontree.Node `json:"rules"`
	TimedScope
}

// EnvironmentRules is one environment's own rules as they are stored.
type EnvironmentRules struct {
	ID    string           `json:"id"`
	Rules []*jsontree.Node `json:"rules"`
	TimedScope
}

// VariantDetail is one variant, its value as it is stored.
type VariantDetail struct {
	Name        string         `json:"name,omitempty"`
	Description string         `json:"description,omitempty"`
	Value       *jsontree.Node `json:"value"`
}

// FlagDetail is everything of a flag that its readers work with. It leaves out
// what a writer needs too, so it cannot be written back.
type FlagDetail struct {
	Item
	ReadyForCleanup     bool                          `json:"readyForCleanup"`
	Default             RuleList                      `json:"default"`
	Environments        []EnvironmentRules            `json:"environments"`
	Variants            []VariantDetail               `json:"variants"`
	EnvironmentStatuses map[string]document.Lifecycle `json:"environmentStatuses"`
	Timed
	Commit
}

// Turns reports whether the detail says what holds now, which changes with the time.
func (d FlagDetail) Turns() bool {
	return d.Default.turns() || slices.ContainsFunc(d.Environments, func(e EnvironmentRules) bool { return e.turns() })
}

// DetailFlag projects a flag onto its detail, as it is at a time.
func DetailFlag(tree *jsontree.Node, environments []document.Active, commit Commit, now time.Time) FlagDetail {
	detail := detailOf(tree, document.View(tree), commit, now)
	_, detail.EnvironmentStatuses = document.LifecyclesOf(document.View(tree)).Statuses(environments)
	return detail
}

// ConfigDetail is a config's detail: a flag's and what only configs have.
type ConfigDetail struct {
	FlagDetail
	SendToClientSDK bool   `json:"sendToClientSdk"`
	SchemaKey       string `json:"schemaKey,omitempty"`
}

// DetailConfig projects a config onto its detail.
func DetailConfig(tree *jsontree.Node, commit Commit, now time.Time) ConfigDetail {
	d := document.View(tree)
	detail := detailOf(tree, d, commit, now)
	detail.EnvironmentStatuses = map[string]document.Lifecycle{}
	return ConfigDetail{detail, d.SendToClientSDK, d.SchemaKey}
}

func detailOf(tree *jsontree.Node, d *document.Document, commit Commit, now time.Time) FlagDetail {
	variants := []VariantDetail{}
	for _, variant := range tree.Get("variants").Elements() {
		name, _ := variant.Get("name").Text()
		description, _ := variant.Get("description").Text()
		variants = append(variants, VariantDetail{name, description, variant.Get("value")})
	}
	detail := FlagDetail{
		Item:            itemOf(d),
		ReadyForCleanup: d.ReadyForCleanup,
		Environments:    storedEnvironments(tree, now),
		Variants:        variants,
		Commit:          commit,
	}
	detail.Default.Rules = some(document.StoredRules(tree.Get("default")))
	detail.Default.TimedScope = timedScope(detail.Default.Rules, now)
	detail.note(document.DefaultScope, detail.Default.TimedScope)
	for _, e := range detail.Environments {
		detail.note(e.ID, e.TimedScope)
	}
	return detail
}

// note puts a scope among those that are paused, or in which something is scheduled.
func (t *Timed) note(scope string, timed TimedScope) {
	if timed.Paused {
		t.Paused = append(t.Paused, scope)
	}
	if timed.turns() {
		t.Scheduled = append(t.Scheduled, scope)
	}
}

func storedEnvironments(tree *jsontree.Node, now time.Time) []EnvironmentRules {
	environments := []EnvironmentRules{}
	for _, entry := range tree.Get("environments").Elements() {
		if id, ok := entry.Get("id").Text(); ok {
			rules := some(document.StoredRules(entry))
			environments = append(environments, EnvironmentRules{id, rules, timedScope(rules, now)})
		}
	}
	return environments
}

// SegmentSummary is a row of the list of segments.
type SegmentSummary struct {
	Key         string `json:"key"`
	Name        string `json:"name"`
	Description string `json:"description"`
	RuleCount   int    `json:"ruleCount"`
	CommitSHA   string `json:"commitSha"`
}

// SummarizeSegment projects a segment onto a row of the list.
func SummarizeSegment(d *document.Document, commitSHA string) SegmentSummary {
	return SegmentSummary{d.Key, d.Name, d.Description, len(d.Default), commitSHA}
}

// SegmentDetail is a segment with its membership rules.
type SegmentDetail struct {
	Key       string   `json:"key"`
	Name      string   `json:"name"`
	Default   RuleList `json:"default"`
	CommitSHA string   `json:"commitSha"`
}

// DetailSegment projects a segment onto its detail.
func DetailSegment(tree *jsontree.Node, commitSHA string) SegmentDetail {
	d := document.View(tree)
	return SegmentDetail{d.Key, d.Name, RuleList{Rules: some(document.StoredRules(tree.Get("default")))}, commitSHA}
}

// some is a list that JSON shows as [] when it is empty, not as null.
func some[E any](list []E) []E {
	if list == nil {
		return []E{}
	}
	return list
}
