package command

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/standin"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"svcadmin": func() { cli.Program(Main) }})
}

// TestScripts runs each script over a table and a bucket of its own in the stand-ins.
func TestScripts(t *testing.T) {
	db := standin.DynamoDBClient(t)
	objects := standin.S3Client(t)
	endpoints := map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": standin.DynamoDB(t), "AWS_ENDPOINT_URL_S3": standin.S3(t)}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // or each command with the race detector waits a second before it ends
			table, other, third, bucket := standin.Name(), standin.Name(), standin.Name(), standin.Bucket(t, objects)
			env.Defer(func() {
				// Some scripts make none.
				for _, name := range []string{table, other, third} {
					_, _ = db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
				}
			})
			env.Vars = append(env.Vars, "SVC_TABLE="+table, "OTHER_TABLE="+other, "THIRD_TABLE="+third, "SVC_BUCKET="+bucket, "HOME="+env.WorkDir, "GIT_CONFIG_SYSTEM=/dev/null")
			env.Vars = append(env.Vars, credentials(endpoints)...)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"keyenv": keyEnv, "newer": newer(db)},
	})
}

// newer makes every workspace of a script, or those of the names given, one that
// a newer version has stored.
func newer(db *dynamodb.Client) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, _ bool, names []string) {
		table := ts.Getenv("SVC_TABLE")
		rows, err := db.Scan(context.Background(), &dynamodb.ScanInput{TableName: &table})
		ts.Check(err)
		for _, row := range rows.Items {
			if sk, _ := row["sk"].(*types.AttributeValueMemberS); sk.Value != "head" {
				continue
			}
			if name, _ := row["name"].(*types.AttributeValueMemberS); len(names) > 0 && !slices.Contains(names, name.Value) {
				continue
			}
			row["format"] = &types.AttributeValueMemberN{Value: "2"}
			_, err := db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &table, Item: row})
			ts.Check(err)
		}
	}
}

// credentials are those of the stand-ins, or for AWS itself those of this
// process.
func credentials(endpoints map[string]string) []string {
	var vars []string
	for name, endpoint := range endpoints {
		if endpoint != "" {
			vars = append(vars, name+"="+endpoint)
		}
	}
	if os.Getenv("AWS_ACCESS_KEY_ID") == "" {
		return append(vars, "AWS_REGION="+standin.Region, "AWS_ACCESS_KEY_ID="+standin.AccessKey, "AWS_SECRET_ACCESS_KEY="+standin.SecretKey)
	}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "AWS_") {
			vars = append(vars, v)
		}
	}
	return vars
}

// keyEnv sets a variable to what a file holds.
func keyEnv(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// TestTheCommandsThatTheGuidesShow: svcadmin has them, with these flags.
func TestTheCommandsThatTheGuidesShow(t *testing.T) {
	guides.CheckCommands(t, "svcadmin", commandLine)
}

// TestTheHelpShowsExamples: of each command, and svcadmin accepts them.
func TestTheHelpShowsExamples(t *testing.T) {
	guides.CheckHelp(t, "svcadmin", commandLine)
}

func commandLine() *cobra.Command {
	return newRoot(&cli.Caller{Getenv: func(string) string { return "" }})
}
