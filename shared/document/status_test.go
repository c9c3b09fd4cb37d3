package document

import (
	"reflect"
	"testing"

	"svc.example/svc/shared/testing/documents"
)

func TestStatus(t *testing.T) {
	always := func(value string) string { return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + value + `}` }
	arm := func(value, weight string) string {
		return `{"value":{"type":"bool","value":` + value + `},"weight":` + weight + `}`
	}
	split := func(arms string) string {
		return `{"type":"weighted_values","value":{"weightedValues":[` + arms + `]}}`
	}
	targetsOff := `{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"x"}}],"value":{"type":"bool","value":false}}`
	for _, tt := range []struct {
		name, rules string
		want        Lifecycle
	}{
		{"no rules", "", StatusPreRollout},
		{"off", documents.ServesFalse, StatusPreRollout},
		{"off for all, targeted or not", targetsOff + "," + documents.ServesFalse, StatusPreRollout},
		{"on", documents.ServesTrue, StatusLive},
		{"on for all, targeted or not", documents.TargetsPro + "," + documents.ServesTrue, StatusLive},
		{"mixed", documents.TargetsPro + "," + documents.ServesFalse, StatusRollout},
		{"mixed the other way", targetsOff + "," + documents.ServesTrue, StatusRollout},
		{"no catch-all, off", targetsOff, StatusPreRollout},
		{"no catch-all, on", documents.TargetsPro, StatusRollout},
		{"a split", documents.Quarter, StatusRollout},
		{"a split above", documents.Quarter + "," + documents.ServesFalse, StatusRollout},
		{"one value has all the weight", always(split(arm("true", "100000") + "," + arm("false", "0"))), StatusLive},
		{"one value has all the weight, in two arms", always(split(arm("false", "40000") + "," + arm("false", "60000") + "," + arm("true", "0"))), StatusPreRollout},
		{"no weight at all", always(split(arm("true", "0"))), StatusRollout},
		{"an arm that is no boolean", always(split(arm("true", "50000") + `,{"value":{"type":"provided","value":{}},"weight":50000}`)), StatusRollout},
		{"an arm that is no boolean, without weight", always(split(arm("true", "50000") + `,{"value":{"type":"provided","value":{}},"weight":0}`)), StatusLive},
		{"a provided value counts as a split", always(`{"type":"provided","value":{"source":"ENV_VAR","lookup":"X"}}`), StatusRollout},
		{"so does a confidential one", always(`{"type":"bool","value":true,"confidential":true}`), StatusRollout},
		{"a confidential arm", always(split(`{"value":{"type":"bool","value":false,"confidential":true},"weight":1}`)), StatusRollout},
		{"so does an encrypted one", always(`{"type":"bool","value":"abc","decryptWith":"k"}`), StatusRollout},
		{"no criteria is no catch-all", `{"criteria":[],"value":{"type":"bool","value":true}}`, StatusRollout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inherited := View(documents.Tree(t, documents.Flag("bool", tt.rules, "")))
			own := View(documents.Tree(t, documents.Flag("bool", documents.Quarter, `,"environments":[{"id":"production","rules":[`+tt.rules+`]}]`)))
			if got := LifecyclesOf(inherited).In("production"); got != tt.want {
				t.Errorf("inherited: %s, want %s", got, tt.want)
			}
			if got := LifecyclesOf(own).In("production"); got != tt.want {
				t.Errorf("own: %s, want %s", got, tt.want)
			}
			own.ReadyForCleanup = true
			if got := LifecyclesOf(own).In("production"); got != StatusReadyForCleanup {
				t.Errorf("ready for clean-up: %s", got)
			}
		})
	}
}

func TestStatuses(t *testing.T) {
	environments := []Active{{"development", false}, {"production", true}, {"eu", true}}
	d := View(documents.Tree(t, documents.Flag("bool", documents.ServesFalse, `,"environments":[{"id":"production","rules":[`+documents.ServesTrue+`]},{"id":"archived","rules":[]}]`)))
	production, all := LifecyclesOf(d).Statuses(environments)
	if want := (map[string]Lifecycle{"production": StatusLive, "eu": StatusPreRollout}); !reflect.DeepEqual(production, want) {
		t.Errorf("production: %v", production)
	}
	if want := (map[string]Lifecycle{"development": StatusPreRollout, "production": StatusLive, "eu": StatusPreRollout}); !reflect.DeepEqual(all, want) {
		t.Errorf("all: %v", all)
	}
	d = View(documents.Tree(t, documents.Flag("string", documents.ServesFalse, `,"readyForCleanup":true`)))
	production, all = LifecyclesOf(d).Statuses(environments)
	if production == nil || all == nil || len(production)+len(all) != 0 {
		t.Errorf("not bool: %v, %v", production, all)
	}
}
