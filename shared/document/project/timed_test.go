package project

import (
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
)

// timedRule is a rule that was made for a time of the first of December.
func timedRule(kind, at, value string) string {
	return `{"criteria":[{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"string","value":"2036-12-01T` + at + `:00Z"}}],"value":` + value + `,"scheduled":"` + kind + `"}`
}

// split is one that serves true to so many thousandths of a percent.
func split(weight, rest string) string {
	return `{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"bool","value":true},"weight":` + weight + `},{"value":{"type":"bool","value":false},"weight":` + rest + `}],"hashByPropertyName":"user.key"}}`
}

// TestTimedScopes: what is read of rules that were made for a time.
func TestTimedScopes(t *testing.T) {
	const on, off = `{"type":"bool","value":true}`, `{"type":"bool","value":false}`
	pause := strings.Replace(documents.ServesFalse, `]`, `],"paused":true`, 1)
	plan := timedRule("rollout", "15:00", split("100000", "0")) + "," + timedRule("rollout", "13:00", split("12500", "87500"))
	planned := func(rest string) string {
		return `,"rolloutPlan":{"value":` + on + `,"from":` + off + `,"hashByPropertyName":"user.key","steps":[{"at":"2036-12-01T13:00:00Z","percent":12.5},{"at":"2036-12-01T15:00:00Z","percent":100}],` + rest + `}`
	}
	for name, test := range map[string]struct{ rules, now, want string }{
		"nothing":            {documents.TargetsPro + "," + documents.ServesFalse, "12:00", ``},
		"paused":             {pause + "," + documents.ServesTrue, "12:00", `,"paused":true`},
		"scheduled":          {documents.TargetsPro + "," + timedRule("change", "14:00", off) + "," + timedRule("change", "13:00", on) + "," + documents.ServesFalse, "13:30", `,"scheduled":[{"at":"2036-12-01T13:00:00Z","value":` + on + `,"come":true},{"at":"2036-12-01T14:00:00Z","value":` + off + `}]`},
		"everybody":          {timedRule("change", "14:00", off) + "," + documents.TargetsPro, "13:30", `,"scheduled":[{"at":"2036-12-01T14:00:00Z","value":` + off + `,"replacesTargeting":true}]`},
		"before a plan":      {plan + "," + documents.ServesFalse, "12:00", planned(`"before":0,"percent":0,"next":{"at":"2036-12-01T13:00:00Z","percent":12.5}`)},
		"in a plan":          {plan + "," + documents.ServesFalse, "13:01", planned(`"before":0,"percent":12.5,"step":0,"next":{"at":"2036-12-01T15:00:00Z","percent":100}`)},
		"after a plan":       {plan + "," + documents.ServesFalse, "15:01", planned(`"before":0,"percent":100,"step":1`)},
		"from a share":       {plan + "," + strings.Replace(documents.ServesFalse, off, split("5000", "95000"), 1), "12:00", planned(`"before":5,"percent":5,"next":{"at":"2036-12-01T13:00:00Z","percent":12.5}`)},
		"held":               {timedRule("hold", "13:30", split("12500", "87500")) + "," + plan + "," + documents.ServesFalse, "17:00", planned(`"before":0,"percent":12.5,"step":0,"held":{"since":"2036-12-01T13:30:00Z"}`)},
		"held before":        {timedRule("hold", "12:30", off) + "," + plan + "," + documents.ServesFalse, "17:00", planned(`"before":0,"percent":0,"held":{"since":"2036-12-01T12:30:00Z"}`)},
		"a step of no split": {timedRule("rollout", "13:00", on), "17:00", `,"scheduled":[{"at":"2036-12-01T13:00:00Z","value":` + on + `,"come":true}]`},
	} {
		t.Run(name, func(t *testing.T) {
			now, _ := time.Parse("2006-01-02T15:04", "2036-12-01T"+test.now)
			tree := documents.Tree(t, documents.Flag("bool", test.rules, ""))
			detail := DetailFlag(tree, nil, Commit{}, now)
			if got, want := documents.Wire(t, detail.Default), `{"rules":[`+test.rules+`]`+test.want+`}`; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			timed := strings.Contains(test.want, "scheduled") || strings.Contains(test.want, "Plan")
			if detail.Turns() != timed || (len(detail.Paused) > 0) != strings.Contains(test.want, "paused") {
				t.Errorf("turns %v, paused %v", detail.Turns(), detail.Paused)
			}
			row := ServingsOf(document.View(tree)).Timed(nil)
			if documents.Wire(t, row.Paused) != documents.Wire(t, detail.Paused) || timed != (len(row.Scheduled) > 0) {
				t.Errorf("the row has %v, the detail %v", row, detail.Timed)
			}
		})
	}
}

// FuzzTimedScopes: whatever rules are marked as, they are read.
func FuzzTimedScopes(f *testing.F) {
	f.Add([]byte(`[` + timedRule("rollout", "15:00", split("100000", "0")) + `,` + timedRule("hold", "13:00", split("0", "0")) + `,{"paused":true}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := jsontree.Parse(text)
		if err != nil {
			return
		}
		documents.Wire(t, timedScope(rules.Elements(), time.Unix(2e9, 0)))
	})
}
