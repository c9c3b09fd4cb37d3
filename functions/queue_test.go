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
	queue, dead := all.Resources["MaintenanceQueue"].Properties, all.Resources["MaintenanceDeadLetters"].Properties
	seconds := func(of map[string]any, name string) int { n, _ := of[name].(int); return n }
	tries, _ := template.At(queue, "RedrivePolicy", "maxReceiveCount").(int)
	again := seconds(queue, "VisibilityTimeout")
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"what a mapping leads from", fmt.Sprint(template.At(all.Resources["MaintenanceMapping"].Properties, "EventSourceArn")), "map[Fn::GetAtt:[MaintenanceQueue Arn]]"},
		{"what it leads to", template.At(all.Resources["MaintenanceMapping"].Properties, "FunctionName", "Ref"), f.ID},
		{"messages at once", template.At(all.Resources["MaintenanceMapping"].Properties, "BatchSize"), 1},
		{"whether the function tells which failed", fmt.Sprint(template.At(all.Resources["MaintenanceMapping"].Properties, "FunctionResponseTypes")), "[ReportBatchItemFailures]"},
		{"where a message goes that was tried in vain", fmt.Sprint(template.At(queue, "RedrivePolicy", "deadLetterTargetArn")), "map[Fn::GetAtt:[MaintenanceDeadLetters Arn]]"},
		{"where a dead letter goes", dead["RedrivePolicy"], nil},
		{"how long dead letters are kept", seconds(dead, "MessageRetentionPeriod"), 14 * 24 * 60 * 60},
		{"whether a message waits six times as long as a run takes, as AWS asks for", again >= 6*f.Timeout, true},
		{"whether it is tried two to five times", tries >= 2 && tries <= 5, true},
		{"whether it is kept until it was tried so often", seconds(queue, "MessageRetentionPeriod") > tries*again, true},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
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
		must(t, err)
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
