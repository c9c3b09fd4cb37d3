package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const small = `
Conditions: {Other: !Or [a, b], Lost: !Equals [!Ref C, ''], Odd: !Equals [!Sub '${A}', '']}
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties:
      AutoPublishAlias: live
      CodeUri: functions/flags
      Policies:
        - Statement:
            - {Sid: A, Effect: Allow, Action: s3:GetObject, Resource: !Sub '${B.Arn}/*'}
  I:
    Type: AWS::ApiGatewayV2::Integration
    Properties: {PayloadFormatVersion: '2.0', IntegrationUri: !Sub '${F.Arn}:live'}
  R:
    Type: AWS::ApiGatewayV2::Route
    Properties: {RouteKey: ANY /v1/flags, Target: !Sub 'integrations/${I}'}
`

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
	all := must.Get(Read(write(t, small)))(t)
	for _, name := range []string{"Other", "Lost", "Odd", "None"} {
		if holds, err := all.Holds(name); err == nil {
			t.Errorf("the condition %s is understood: %v", name, holds)
		}
	}
	for name, text := range map[string]string{"no YAML": "a: [", "empty": "", "a name that stands twice": "Resources: {}\nResources: {}"} {
		if _, err := Read(write(t, text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
