package functions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/template"
)

// TestMaintenanceIsNotRepeatedBlindly: a message is handed out again only when
// the run before is certainly over, a bounded number of times, and then kept
// where an alarm sees it; the schedule's event is not repeated at all.
func TestMaintenanceIsNotRepeatedBlindly(t *testing.T) {
	all, f := read(t), functions(t)["MaintenanceFunction"]
	mappings, err := all.Mappings()
	if err != nil || len(mappings) != 1 || mappings[0].Function != f.ID || !mappings[0].Partial || mappings[0].BatchSize != 1 {
		t.Fatalf("%+v, %v", mappings, err)
	}
	for _, q := range all.Queues() {
		if q.ID != mappings[0].Queue {
			if q.DeadLetters != "" {
				t.Errorf("%s has dead letters of its own", q.ID)
			}
			continue
		}
		if q.VisibilityTimeout < 6*f.Timeout {
			t.Errorf("a message is handed out again after %d s, and a run may take %d s; AWS asks for six times that", q.VisibilityTimeout, f.Timeout)
		}
		if q.MaxReceive < 2 || q.MaxReceive > 5 || q.DeadLetters == "" {
			t.Errorf("a message is handed out %d times, then it goes to %q", q.MaxReceive, q.DeadLetters)
		}
		keeps, _ := all.Resources[q.ID].Properties["MessageRetentionPeriod"].(int)
		if keeps <= q.MaxReceive*q.VisibilityTimeout {
			t.Errorf("a message is forgotten after %d s, before it was tried %d times", keeps, q.MaxReceive)
		}
		if dead, _ := all.Resources[q.DeadLetters].Properties["MessageRetentionPeriod"].(int); dead != 14*24*60*60 {
			t.Errorf("dead letters are kept for %d s", dead)
		}
	}
	if n := template.At(all.Resources[f.ID].Properties, "EventInvokeConfig", "MaximumRetryAttempts"); n != 0 {
		t.Errorf("Lambda repeats what a schedule has started %v times", n)
	}
}

// TestAlarms: each tells somebody, is explained by the guide, and looks at the ten metrics
// that CloudWatch allows at the most. The guide counts all of them, since they are paid for.
func TestAlarms(t *testing.T) {
	all, metrics, guide := map[string]string{}, 0, guides.Read(t, "infra/README.md")
	for id, r := range read(t).Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		text, err := json.Marshal(r.Properties)
		if err != nil {
			t.Fatal(err)
		}
		all[id] = string(text)
		n := strings.Count(all[id], `"MetricName"`)
		if metrics += n; n > 10 {
			t.Errorf("%s looks at %d metrics", id, n)
		}
		if !strings.Contains(all[id], `"AlarmActions":{"Fn::If":["HasAlarmEmail",[{"Ref":"AlarmTopic"}]`) {
			t.Errorf("%s tells nobody", id)
		}
		if !strings.Contains(guide, "`"+id+"`") {
			t.Errorf("infra/README.md does not say what %s means", id)
		}
	}
	for id, wants := range map[string][]string{
		"NoMaintenanceAlarm":          {`"MetricName":"NumberOfMessagesDeleted"`, `["MaintenanceQueue","QueueName"]`, `"TreatMissingData":"breaching"`, `"Period":3600`, `"EvaluationPeriods":24`, `"LessThanThreshold"`},
		"MaintenanceDeadLettersAlarm": {`"MetricName":"ApproximateNumberOfMessagesVisible"`, `["MaintenanceDeadLetters","QueueName"]`, `"Threshold":1`},
		"MaintenanceErrorsAlarm":      {`"MetricName":"Errors"`, `"MaintenanceFunction"`},
		"ApiRefusalsAlarm":            {`"MetricName":"4xx"`, `"MetricName":"Count"`, `100 * refused / requests`},
		"ApiLatencyAlarm":             {`"MetricName":"Latency"`, `"ExtendedStatistic":"p95"`},
		"ApiErrorsAlarm":              {`"MetricName":"5xx"`, `"MetricName":"Count"`, `100 * failed / requests`},
	} {
		for _, want := range wants {
			if !strings.Contains(all[id], want) {
				t.Errorf("%s has no %s: %s", id, want, all[id])
			}
		}
	}
	if want := fmt.Sprintf("%d metrics, %.2f a month", metrics, 0.10*float64(metrics)); !strings.Contains(guide, want) {
		t.Errorf("infra/README.md does not say of the alarms: %s", want)
	}
}

func TestTheApiHasNoSecondAddress(t *testing.T) {
	got, err := json.Marshal(read(t).Resources["Api"].Properties["DisableExecuteApiEndpoint"])
	if err != nil || string(got) != `{"Fn::If":["HasDomain",true,false]}` {
		t.Errorf("the gateway's own address is disabled: %s", got)
	}
}
