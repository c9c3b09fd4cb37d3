package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const small = `
Parameters: {Memory: {Type: Number, Default: 256}}
Globals: {Function: {MemorySize: !Ref Memory, Timeout: 20}}
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties:
      AutoPublishAlias: live
      CodeUri: functions/flags
      Timeout: 5
      Policies:
        - Statement:
            - {Sid: A, Effect: Allow, Action: s3:GetObject, Resource: !Sub '${B.Arn}/*'}
            - Sid: B
              Effect: Allow
              Action: [dynamodb:Query]
              Resource: [!GetAtt T.Arn, !Ref U]
              Condition: {StringEquals: {a: b}}
  I:
    Type: AWS::ApiGatewayV2::Integration
    Properties: {PayloadFormatVersion: '2.0', IntegrationUri: !Sub '${F.Arn}:live'}
  R:
    Type: AWS::ApiGatewayV2::Route
    Properties: {RouteKey: ANY /v1/flags, Target: !Sub 'integrations/${I}'}
`

func TestRead(t *testing.T) {
	got, err := Read(write(t, small))
	if err != nil {
		t.Fatal(err)
	}
	functions, err := got.Functions()
	if err != nil {
		t.Fatal(err)
	}
	f := functions["F"]
	if f.Group() != "flags" || f.Timeout != 5 || f.Memory != 256 || len(f.Policies) != 2 {
		t.Errorf("%+v", f)
	}
	if s := f.Policies[0]; s.Sid != "A" || len(s.Actions) != 1 || At(s.Resources[0], "Fn::Sub") != "${B.Arn}/*" {
		t.Errorf("%+v", s)
	}
	if s := f.Policies[1]; len(s.Resources) != 2 || At(s.Resources[1], "Ref") != "U" || At(s.Condition, "StringEquals", "a") != "b" {
		t.Errorf("%+v", s)
	}
	if routes, err := got.Routes(); err != nil || len(routes) != 1 || routes[0] != (Route{"R", "ANY /v1/flags", "F"}) {
		t.Errorf("%v %v", routes, err)
	}
}

func TestWhatIsNotUnderstoodIsAnError(t *testing.T) {
	for name, change := range map[string][2]string{
		"a managed policy":           {"- Statement:", "- AmazonS3FullAccess\n        - Statement:"},
		"another payload":            {"'2.0'", "'1.0'"},
		"a target that is none":      {"integrations/${I}", "integrations/${J}"},
		"an integration of a bucket": {"${F.Arn}:live", "${B.Arn}:live"},
		"another alias":              {"${F.Arn}:live", "${F.Arn}:latest"},
		"no alias":                   {"!Sub '${F.Arn}:live'", "!GetAtt F.Arn"},
		"a function without code":    {"CodeUri: functions/flags", "Handler: x"},
	} {
		got, err := Read(write(t, strings.Replace(small, change[0], change[1], 1)))
		if err != nil {
			t.Fatal(name, err)
		}
		_, functions := got.Functions()
		if _, routes := got.Routes(); functions == nil && routes == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for name, text := range map[string]string{"no YAML": "a: [", "empty": "", "a name that stands twice": "Resources: {}\nResources: {}"} {
		if _, err := Read(write(t, text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
