package functions

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/template"
	"svc.example/svc/shared/testing/testenv"
)

const module = "svc.example/svc/"

// links are what a function must not link, and why.
var links = []struct {
	groups []string // nil: all
	but    []string
	not    []string
	why    string
}{
	{groups: []string{"reference"}, not: []string{"github.com/aws/aws-sdk-go-v2", module + "shared/ledger", module + "shared/repository/s3", module + "functions/internal/table"},
		why: "neither the description nor the console needs a store"},
	{but: []string{"reference"}, not: []string{module + "shared/console"}, why: "one function serves the console"},
	{but: []string{"console"}, not: []string{module + "shared/signin", "github.com/coreos/go-oidc", "golang.org/x/oauth2"},
		why: "people sign in at one function"},
	{groups: []string{"console"}, not: []string{module + "shared/sdkapi", module + "shared/admin"}, why: "the page is neither polled nor an operator's"},
	{groups: []string{"telemetry"}, not: []string{module + "shared/httpapi"}, why: "telemetry serves no REST"},
	{groups: []string{"delivery"}, not: []string{module + "shared/httpapi", module + "shared/telemetry/rows"},
		why: "a poll is no part of the REST API and takes nothing in"},
	{groups: []string{"workspace", "loglevels", "activity"}, not: []string{module + "shared/telemetry/rows", module + "shared/sdkapi"},
		why: "the REST API neither takes telemetry in nor is polled"},
	{groups: []string{"contexts", "flags", "configs", "segments", "changes", "changerequests"}, not: []string{module + "shared/sdkapi"}, why: "what was saved is read, not taken in"},
	{groups: []string{"maintenance"}, not: []string{module + "shared/httpapi", module + "shared/delivery", module + "shared/sdkapi", module + "functions/internal/api"},
		why: "maintenance answers nobody"},
	{but: []string{"maintenance", "webhooks"}, not: []string{"github.com/aws/aws-sdk-go-v2/service/sqs"}, why: "only maintenance and webhooks have a queue"},
	{but: []string{"maintenance"}, not: []string{module + "infra/", "github.com/aws/aws-sdk-go-v2/config", "github.com/aws/aws-sdk-go-v2/service/sso", "github.com/aws/aws-sdk-go-v2/service/sts"},
		why: "what only an operator does, and credentials that Lambda does not use, cost every cold start"},
	{but: []string{"maintenance"}, not: []string{module + "shared/ledger/local", module + "shared/repository/disk", module + "shared/datadir"},
		why: "a function that answers requests has no disk (shared/admin, which imports and exports, has)"},
	{not: []string{"testing", "github.com/spf13/cobra", "go.yaml.in/yaml", module + "devserver/", module + "infra/samlocal", module + "shared/testing/standin"},
		why: "a function has no command line and no tests"},
}

func dependencies(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags=lambda.norpc", "-json=ImportPath,Name,Deps", "./...")
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	all := map[string][]string{}
	for dec := json.NewDecoder(out); ; {
		var p struct {
			ImportPath, Name string
			Deps             []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Name == "main" {
			all[strings.TrimPrefix(p.ImportPath, module+"functions/")] = p.Deps
		}
	}
	must.Do(t, cmd.Wait())
	return all
}

func TestAFunctionLinksOnlyWhatItsGroupNeeds(t *testing.T) {
	for group, deps := range dependencies(t) {
		// Without contexts it would say, of everybody, that nobody is reached.
		if slices.Contains([]string{"flags", "configs", "segments", "changes", "console"}, group) && !slices.Contains(deps, module+"shared/telemetry/rows") {
			t.Errorf("%s tells impact and reads no contexts", group)
		}
		for _, rule := range links {
			if rule.groups != nil && !slices.Contains(rule.groups, group) || slices.Contains(rule.but, group) {
				continue
			}
			for _, not := range rule.not {
				for _, dep := range deps {
					if dep == not || strings.HasPrefix(dep, not) && (strings.HasSuffix(not, "/") || dep[len(not)] == '/') {
						t.Errorf("%s links %s: %s", group, dep, rule.why)
					}
				}
			}
		}
	}
}

const maxBytes = 16 << 20

func TestAFunctionStaysSmall(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", "-o", dir, "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(all) {
		t.Fatalf("%d binaries, %v", len(entries), err)
	}
	for _, e := range entries {
		info := must.Get(e.Info())(t)
		t.Logf("%-12s %5.1f MB", e.Name(), float64(info.Size())/(1<<20))
		if info.Size() > maxBytes {
			t.Errorf("%s is %d bytes stripped, at most %d are allowed", e.Name(), info.Size(), maxBytes)
		}
	}
}

func TestTheTemplateIsValid(t *testing.T) {
	program, err := standin.Tool("sam")
	if err != nil {
		testenv.Skip(t, err.Error())
	}
	cmd := exec.Command(program, "validate", "--lint", "--region", "eu-central-1") // which has cfn-lint read it
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheGuideNamesEveryParameter holds the guide's table against the template,
// with the defaults that are numbers.
func TestTheGuideNamesEveryParameter(t *testing.T) {
	parameters := read(t).Parameters
	if len(parameters) == 0 {
		t.Fatal("the template has no parameters")
	}
	for name := range parameters {
		row := ""
		for line := range strings.Lines(guides.Read(t, "infra/README.md")) {
			if strings.HasPrefix(line, "| ") && strings.Contains(line, "`"+name+"`") && row == "" {
				row = line
			}
		}
		if row == "" {
			t.Errorf("infra/README.md does not describe the parameter %s", name)
		} else if n, isNumber := template.At(parameters, name, "Default").(int); isNumber && !strings.Contains(row, fmt.Sprint(n)) {
			t.Errorf("infra/README.md does not say the default %d of %s: %s", n, name, row)
		}
	}
}

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
		text := must.Get(json.Marshal(r.Properties))(t)
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
