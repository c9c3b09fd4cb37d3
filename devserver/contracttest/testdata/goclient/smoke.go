// Command smoke is what a program does with clients that oapi-codegen generates. With
// that of the description of a running server it reads, tries a write, writes, meets a
// conflict, and takes the write back. With that of the OpenFeature CLI's description it
// does what the CLI does (manifest.go). It ends with status 1 at the first answer that
// is not as it should be.
//
// The packages client and manifest are not here: they are generated in a copy of this
// folder.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"contract.example/goclient/client"
)

const key = "go.smoke"

var ctx = context.Background()

func main() {
	api := newAPI(os.Getenv("KEY"))
	reads(api)
	creation := dryRun(api)
	undo(api, toggle(api, creation))
	otherWrites(api)
	manifests()
	fmt.Println("ok")
}

func newAPI(key string) *client.ClientWithResponses {
	return got(client.NewClientWithResponses(os.Getenv("SVC")+"/v1", client.WithRequestEditorFn(as(key))))
}

// as makes requests those of a key.
func as(key string) func(context.Context, *http.Request) error {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
}

// got is what was asked for. Without it the program ends.
func got[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// is fails unless got is what was wanted.
func is[T comparable](what string, got, want T) {
	if got != want {
		check(fmt.Errorf("%s: %v, want %v", what, got, want))
	}
}

func reads(api *client.ClientWithResponses) {
	is("whoami", got(api.GetWhoamiWithResponse(ctx)).JSON200.Principal.Name, "you")
	is("a stranger's code", got(newAPI("svc_uk_nobody").GetWhoamiWithResponse(ctx)).JSON401.Error, "UNAUTHORIZED")
	for _, e := range got(api.ListEnvironmentsWithResponse(ctx)).JSON200.Environments {
		is(e.Name+" is protected", e.Protected, e.Name == "production")
	}

	all := got(api.ListFlagsWithResponse(ctx, nil)).JSON200
	params, rows := &client.ListFlagsParams{Limit: new(2)}, 0
	for more := true; more; more = params.Cursor != nil {
		page := got(api.ListFlagsWithResponse(ctx, params)).JSON200
		rows += len(page.Flags)
		params.Cursor = page.NextCursor
	}
	is("the rows of all pages", rows, all.Total)
	wrong := got(api.ListFlagsWithResponse(ctx, &client.ListFlagsParams{Limit: new(101)}))
	is("a limit out of range", (*wrong.JSON400.Details.Issues)[0].Path, "?limit")
}

// patch changes the flag in production.
func patch(api *client.ClientWithResponses, params *client.UpdateFlagEnvironmentParams, change client.FlagPatch) *client.UpdateFlagEnvironmentResponse {
	return got(api.UpdateFlagEnvironmentWithResponse(ctx, key, "production", params, change))
}

func status(api *client.ClientWithResponses) string {
	return string(got(api.GetFlagWithResponse(ctx, key)).JSON200.EnvironmentStatuses["production"])
}

func dryRun(api *client.ClientWithResponses) (commit string) {
	created := got(api.CreateFlagWithResponse(ctx, nil, client.FlagCreation{Key: key, Tags: &[]string{"smoke"}})).JSON200
	is("the new flag's type", created.ValueType, "bool")
	tried := patch(api, &client.UpdateFlagEnvironmentParams{DryRun: new(true)}, client.FlagPatch{Enabled: new(true)}).JSON200
	is("what a dry run would do", (*tried.Messages)[0].Message, "production: enabled set to true")
	is("the status after a dry run", status(api), "pre_rollout")
	return created.CommitSha
}

func toggle(api *client.ClientWithResponses, before string) (previous string) {
	written := patch(api, nil, client.FlagPatch{Enabled: new(true), ExpectedCommitSha: &before}).JSON200
	is("the status after the toggle", status(api), "live")
	stale := patch(api, nil, client.FlagPatch{Enabled: new(false), ExpectedCommitSha: &before}).JSON409.Details
	is("the code of a stale write", *stale.Code, "STALE_COMMIT_SHA")
	is("the commit that it met", *stale.CurrentCommitSha, written.CommitSha)
	is("what happened since", (*stale.Changes)[0].Messages[0].Message, "production: enabled set to true")
	return *written.PreviousCommitSha
}

func undo(api *client.ClientWithResponses, previous string) {
	old := got(api.GetFlagDocumentWithResponse(ctx, key, &client.GetFlagDocumentParams{At: &previous})).JSON200
	current := got(api.GetFlagDocumentWithResponse(ctx, key, nil)).JSON200
	undone := got(api.ReplaceFlagDocumentWithResponse(ctx, key, nil,
		client.DocumentPut{Document: old.Document, ExpectedCommitSha: current.CommitSha}))
	is("the undo changed the flag", undone.JSON200.Changed, true)
	is("the status after the undo", status(api), "pre_rollout")
	is("the commits", len(got(api.GetFlagHistoryWithResponse(ctx, key, nil)).JSON200.History), 3)
}

func otherWrites(api *client.ClientWithResponses) {
	split := patch(api, nil, client.FlagPatch{Rollout: &[]client.RolloutEntry{{Value: true, Percent: 33.333}, {Value: false, Percent: 66.667}}})
	is("the weight of the first arm", got(split.JSON200.Rules[0].Value.AsWeightedValue()).Value.WeightedValues[0].Weight, 33333)
	config := got(api.UpdateConfigEnvironmentWithResponse(ctx, "api.timeout", "default", nil, client.ConfigPatch{Value: "PT45S"}))
	is("the scope", config.JSON200.Environment, "default")
	level := got(api.UpdateLogLevelWithResponse(ctx, "storefront", nil, client.LogLevelPatch{Level: client.DEBUG, Target: new("com.acme.smoke")}))
	is("the full key", level.JSON200.Key, "log-level.storefront")
}
