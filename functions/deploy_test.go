package functions

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/iam"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/template"
	"svc.example/svc/shared/testing/testenv"
)

// alias is what the gateway invokes: the version that is in service.
const alias = "live"

// TestANewVersionTakesOverByAndBy: the gateway asks the alias of each function, whose
// new version first gets a part of the requests, and none if an alarm rings.
func TestANewVersionTakesOverByAndBy(t *testing.T) {
	all := read(t)
	routes := must.Get(all.Routes())(t)
	for _, r := range routes {
		f := all.Resources[r.Function].Properties
		if f["AutoPublishAlias"] != alias || f["AutoPublishAliasAllProperties"] != true {
			t.Errorf("%s publishes no version under the name %s when any of its settings change", r.Function, alias)
		}
		if kind := template.At(f["DeploymentPreference"], "Type", "Ref"); kind != "DeploymentType" {
			t.Errorf("%s is deployed by %v", r.Function, kind)
		}
		var alarms []string
		list, _ := template.At(f["DeploymentPreference"], "Alarms").([]any)
		for _, a := range list {
			alarms = append(alarms, fmt.Sprint(template.At(a, "Ref")))
		}
		for _, name := range []string{"FunctionErrorsAlarm", "ApiErrorsAlarm"} {
			if !slices.Contains(alarms, name) {
				t.Errorf("%s stays in service when %s rings", r.Function, name)
			}
		}
		for _, name := range alarms {
			alarm := all.Resources[name]
			if alarm.Type != "AWS::CloudWatch::Alarm" || alarm.Condition != "" || alarm.Properties["TreatMissingData"] != "notBreaching" {
				t.Errorf("%s does not say whether %s works: %v", name, r.Function, alarm)
			}
		}
		integration := strings.TrimSuffix(r.Function, "Function") + "Integration"
		if uri := template.At(all.Resources[integration].Properties["IntegrationUri"], "Fn::Sub"); uri != "${"+r.Function+".Arn}:"+alias {
			t.Errorf("%s invokes %v", integration, uri)
		}
	}
}

// TestSAMPublishesVersions as SAM itself transforms the template. A version is published
// anew when its description changes, so that says the value of each parameter that its
// function has.
func TestSAMPublishesVersions(t *testing.T) {
	const python = "../infra/samlocal/.venv/bin/python"
	testenv.File(t, "make tools", python)
	cmd := exec.Command(python, "internal/testdata/transform.py", path)
	cmd.Stderr = t.Output()
	out := must.Get(cmd.Output())(t)
	var resources map[string]struct {
		Type                     string
		Properties, UpdatePolicy map[string]any
	}
	must.Do(t, json.Unmarshal(out, &resources))
	parameters := read(t).Parameters
	versions := 0
	for id, r := range resources {
		switch name := fmt.Sprint(template.At(r.Properties["FunctionName"], "Ref")); r.Type {
		case "AWS::Lambda::Version":
			versions++
			said := references(r.Properties["Description"])
			delete(resources[name].Properties, "ReservedConcurrentExecutions") // of the function, not of its versions
			for parameter := range references(resources[name].Properties) {
				if parameters[parameter] != nil && !said[parameter] {
					t.Errorf("%s: nothing changes when %s does", name, parameter)
				}
			}
		case "AWS::Lambda::Alias":
			if r.UpdatePolicy["CodeDeployLambdaAliasUpdate"] == nil {
				t.Errorf("%s moves at once", id)
			}
		case "AWS::Lambda::Permission":
			if resources[name].Type != "AWS::Lambda::Alias" {
				t.Errorf("%s is for %s, which the gateway does not invoke", id, name)
			}
		}
	}
	if versions < 11 {
		t.Errorf("only %d versions", versions)
	}
}

var substituted = regexp.MustCompile(`\$\{(\w+)\}`)

// references are the names that a value refers to.
func references(value any) map[string]bool {
	names := map[string]bool{}
	switch value := value.(type) {
	case map[string]any:
		for kind, of := range value {
			text, _ := of.(string)
			switch kind {
			case "Ref":
				names[text] = true
			case "Fn::Sub":
				for _, found := range substituted.FindAllStringSubmatch(text, -1) {
					names[found[1]] = true
				}
			}
			maps.Copy(names, references(of))
		}
	case []any:
		for _, of := range value {
			maps.Copy(names, references(of))
		}
	}
	return names
}

// TestAnAddressThatIsGivenInAnotherWay changes no function, and so must not change what a
// version says of itself: Lambda refuses a version that is equal to the one before.
func TestAnAddressThatIsGivenInAnotherWay(t *testing.T) {
	written := func(parameter, value string) (address, description string) {
		all := read(t).With(map[string]string{parameter: value})
		var write func(value any) string
		write = func(value any) (text string) {
			value = must.Get(all.Resolve(value))(t)
			if name, is := template.At(value, "Ref").(string); is {
				of, _ := all.Parameter(name)
				return fmt.Sprint(of)
			}
			if sub, is := template.At(value, "Fn::Sub").(string); is {
				return substituted.ReplaceAllStringFunc(sub, func(of string) string { return write(map[string]any{"Ref": of[2 : len(of)-1]}) })
			}
			if parts, is := template.At(value, "Fn::Join").([]any); is {
				for _, part := range parts[1].([]any) {
					text += write(part) + fmt.Sprint(parts[0])
				}
				return text
			}
			return fmt.Sprint(value)
		}
		return write(template.At(all.Globals, "Function", "Environment", "Variables", "PUBLIC_URL")), write(all.Resources["FlagsFunction"].Properties["VersionDescription"])
	}
	address, one := written("PublicUrl", "https://flags.example.com")
	same, other := written("DomainName", "flags.example.com")
	if address != same || one != other || !strings.Contains(one, address) {
		t.Errorf("the address is %s and %s, and the versions are described as\n%s\n%s", address, same, one, other)
	}
}

// TestTheAccessLogTakesNoRoomInTheAccountsPolicy, which every log group of a gateway is
// added to but those with such a name, and which is full after some ten.
func TestTheAccessLogTakesNoRoomInTheAccountsPolicy(t *testing.T) {
	all := read(t)
	group, _ := template.At(all.Resources["Stage"].Properties, "AccessLogSettings", "DestinationArn", "Fn::GetAtt").([]any)
	if len(group) != 2 {
		t.Fatal("the stage has no access log")
	}
	if name := fmt.Sprint(template.At(all.Resources[fmt.Sprint(group[0])].Properties["LogGroupName"], "Fn::Sub")); !strings.HasPrefix(name, "/aws/vendedlogs/") {
		t.Errorf("the access log is %s", name)
	}
}

// TestStoresThatAreAdopted: with ExistingTable and ExistingBucket the functions work on
// these, with the same rights and on nothing else, and the stack's own are no part of it.
func TestStoresThatAreAdopted(t *testing.T) {
	adopted := map[string]string{"ExistingTable": "svc-restored", "ExistingBucket": "svc-copy"}
	for _, set := range [][]string{nil, {"ExistingTable"}, {"ExistingBucket"}, {"ExistingTable", "ExistingBucket"}} {
		values := map[string]string{}
		for _, name := range set {
			values[name] = adopted[name]
		}
		t.Run(strings.Join(set, " and "), func(t *testing.T) { testAdopted(t, read(t).With(values), values) })
	}
}

func testAdopted(t *testing.T, all *template.Template, values map[string]string) {
	table, bucket := "table", "bucket"
	if values["ExistingTable"] != "" {
		table = values["ExistingTable"]
	}
	if values["ExistingBucket"] != "" {
		bucket = values["ExistingBucket"]
	}
	for variable, want := range map[string]string{"TABLE": "Table", "BUCKET": "Bucket"} {
		if adopted := "Existing" + want; values[adopted] != "" {
			want = adopted
		}
		got, err := all.Resolve(template.At(all.Globals, "Function", "Environment", "Variables", variable))
		if err != nil || template.At(got, "Ref") != want {
			t.Errorf("%s is %v, %v; want a reference to %s", variable, got, err, want)
		}
	}
	for id, condition := range map[string]string{"Table": "OwnTable", "Bucket": "OwnBucket", "BucketPolicy": "OwnBucket"} {
		holds, err := all.Holds(condition)
		if err != nil || all.Resources[id].Condition != condition || holds == (values["Existing"+strings.TrimPrefix(condition, "Own")] != "") {
			t.Errorf("%s is made on the condition %s, which is %v, %v", id, all.Resources[id].Condition, holds, err)
		}
	}
	own := must.Get(all.Functions())(t)
	plain := functions(t)
	for id, f := range own {
		got := must.Get(iam.New(all, f, names))(t)
		want, err := iam.New(read(t), plain[id], iam.Names{"Table": table, "Bucket": bucket, "MaintenanceQueue": "queue", "MaintenanceDeadLetters": "dead", "WebhooksQueue": "webhooks"})
		if err != nil || !slices.Equal(got.Rights(), want.Rights()) {
			t.Errorf("%s may %v\nwant %v, %v", id, got.Rights(), want.Rights(), err)
		}
	}
}

// TestAVersionsDescriptionFits: it names the parameters, so that functions are published
// anew when one of them changes, and has 256 characters at most.
func TestAVersionsDescriptionFits(t *testing.T) {
	all := read(t)
	for id, r := range all.Resources {
		parts, _ := template.At(r.Properties["VersionDescription"], "Fn::Join").([]any)
		if len(parts) != 2 {
			continue
		}
		length := -1
		for _, part := range parts[1].([]any) {
			length += 1 + longest(t, all, part)
		}
		if length > 256 {
			t.Errorf("%s: the description can have %d characters", id, length)
		}
	}
}

// longest is how long the value of a parameter can be.
func longest(t *testing.T, all *template.Template, value any) (length int) {
	if text, is := value.(string); is {
		return len(text)
	}
	if text, is := template.At(value, "Fn::Sub").(string); is {
		length = len(substituted.ReplaceAllString(text, ""))
		for _, found := range substituted.FindAllStringSubmatch(text, -1) {
			length += longest(t, all, map[string]any{"Ref": found[1]})
		}
		return length
	}
	if choice, is := template.At(value, "Fn::If").([]any); is {
		return max(longest(t, all, choice[1]), longest(t, all, choice[2]))
	}
	p := all.Parameters[fmt.Sprint(template.At(value, "Ref"))]
	if most, is := template.At(p, "MaxLength").(int); is {
		return most
	}
	if most := template.At(p, "MaxValue"); most != nil {
		return len(fmt.Sprint(most))
	}
	values, _ := template.At(p, "AllowedValues").([]any)
	for _, v := range values {
		length = max(length, len(fmt.Sprint(v)))
	}
	if length == 0 {
		t.Errorf("%v may have any length", value)
	}
	return length
}

// TestNothingNamesTheStoresPastTheConditions: a deployment with an adopted store fails on
// a reference to the resource that is not made.
func TestNothingNamesTheStoresPastTheConditions(t *testing.T) {
	all := read(t)
	for _, id := range slices.Sorted(maps.Keys(all.Resources)) {
		if id != "Table" && id != "Bucket" && id != "BucketPolicy" {
			unconditional(t, id, map[string]any(all.Resources[id].Properties), false)
		}
	}
	unconditional(t, "Globals", all.Globals, false)
}

func unconditional(t *testing.T, where string, value any, chosen bool) {
	switch v := value.(type) {
	case map[string]any:
		if name := fmt.Sprint(v["Ref"]); !chosen && (name == "Table" || name == "Bucket") {
			t.Errorf("%s refers to %s without a condition", where, name)
		}
		if at, is := v["Fn::GetAtt"].([]any); is && !chosen && (at[0] == "Table" || at[0] == "Bucket") {
			t.Errorf("%s asks %v for what it is", where, at)
		}
		for name, part := range v {
			unconditional(t, where, part, chosen || name == "Fn::If")
		}
	case []any:
		for _, part := range v {
			unconditional(t, where, part, chosen)
		}
	case string:
		if strings.Contains(v, "${Table") || strings.Contains(v, "${Bucket") {
			t.Errorf("%s names a store in %q", where, v)
		}
	}
}
