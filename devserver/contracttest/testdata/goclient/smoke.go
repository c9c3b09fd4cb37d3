// Command smoke is what a program does with the client that oapi-codegen
// generates: it reads, tries a write, writes, meets a conflict, and takes the
// write back. It ends with status 1 at the first answer that is not as it
// should be.
//
// The package client is not here: it is generated from the description of a
// running server, in a copy of this folder.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"

	"contract.example/goclient/client"
)

const key = "go.smoke"

var ctx = context.Background()

func main() {
	api := newAPI(os.Getenv("KEY"))
	whoAmI(api)
	pages(api)
	dryRun(api)
	undo(api, toggle(api))
	otherWrites(api)
	fmt.Println("ok")
}

func newAPI(key string) *client.ClientWithResponses {
	api, err := client.NewClientWithResponses(os.Getenv("SVC"), client.WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		}))
	check(err)
	return api
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

func to[T any](value T) *T { return &value }

func whoAmI(api *client.ClientWithResponses) {
	me, err := api.GetWhoamiWithResponse(ctx)
	check(err)
	is("whoami", me.JSON200.Principal.Name, "you")
	stranger, err := newAPI("svc_uk_nobody").GetWhoamiWithResponse(ctx)
	check(err)
	is("a stranger", stranger.StatusCode(), http.StatusUnauthorized)
	is("a stranger's code", stranger.JSON401.Error, "UNAUTHORIZED")

	environments, err := api.ListEnvironmentsWithResponse(ctx)
	check(err)
	for _, e := range environments.JSON200.Environments {
		is(e.Name+" is protected", e.Protected, e.Name == "production")
	}
}

func pages(api *client.ClientWithResponses) {
	all, err := api.ListFlagsWithResponse(ctx, nil)
	check(err)
	is("the rows", len(all.JSON200.Flags), all.JSON200.Total)
	var keys []string
	params := &client.ListFlagsParams{Limit: to(2)}
	for {
		page, err := api.ListFlagsWithResponse(ctx, params)
		check(err)
		is("the total of a page", page.JSON200.Total, all.JSON200.Total)
		for _, row := range page.JSON200.Flags {
			keys = append(keys, row.Key)
		}
		if params.Cursor = page.JSON200.NextCursor; params.Cursor == nil {
			break
		}
	}
	is("the rows of all pages", len(keys), all.JSON200.Total)
	is("the rows are in order", slices.IsSorted(keys), true)

	wrong, err := api.ListFlagsWithResponse(ctx, &client.ListFlagsParams{Limit: to(101)})
	check(err)
	is("a limit out of range", (*wrong.JSON400.Details.Issues)[0].Path, "?limit")
}

func dryRun(api *client.ClientWithResponses) {
	created, err := api.CreateFlagWithResponse(ctx, nil, client.FlagCreation{Key: key, Tags: &[]string{"smoke"}})
	check(err)
	is("the new flag's type", created.JSON200.ValueType, "bool")
	tried, err := api.UpdateFlagEnvironmentWithResponse(ctx, key, "production",
		&client.UpdateFlagEnvironmentParams{DryRun: to(true)}, client.FlagPatch{Enabled: to(true)})
	check(err)
	is("what a dry run would do", (*tried.JSON200.Messages)[0].Message, "production: enabled set to true")
	is("the dry run says so", *tried.JSON200.DryRun, true)
	is("the dry run would change", tried.JSON200.Changed, true)
	flag := read(api)
	is("the status after a dry run", flag.EnvironmentStatuses["production"], "pre_rollout")
	is("the commit after a dry run", flag.CommitSha, created.JSON200.CommitSha)
}

func read(api *client.ClientWithResponses) client.FlagDetail {
	flag, err := api.GetFlagWithResponse(ctx, key)
	check(err)
	return *flag.JSON200
}

func toggle(api *client.ClientWithResponses) (previous string) {
	before := read(api).CommitSha
	set := func(enabled bool) *client.UpdateFlagEnvironmentResponse {
		answer, err := api.UpdateFlagEnvironmentWithResponse(ctx, key, "production", nil,
			client.FlagPatch{Enabled: &enabled, ExpectedCommitSha: &before})
		check(err)
		return answer
	}
	written := set(true).JSON200
	is("the toggle changed the flag", written.Changed, true)
	is("the status after the toggle", read(api).EnvironmentStatuses["production"], "live")

	stale := set(false)
	is("a stale write", stale.StatusCode(), http.StatusConflict)
	details := stale.JSON409.Details
	is("its code", *details.Code, "STALE_COMMIT_SHA")
	is("the commit that it met", *details.CurrentCommitSha, written.CommitSha)
	is("what happened since", (*details.Changes)[0].Messages[0].Message, "production: enabled set to true")
	return *written.PreviousCommitSha
}

func undo(api *client.ClientWithResponses, previous string) {
	old, err := api.GetFlagDocumentWithResponse(ctx, key, &client.GetFlagDocumentParams{At: &previous})
	check(err)
	current, err := api.GetFlagDocumentWithResponse(ctx, key, nil)
	check(err)
	undone, err := api.ReplaceFlagDocumentWithResponse(ctx, key, nil,
		client.DocumentPut{Document: old.JSON200.Document, ExpectedCommitSha: current.JSON200.CommitSha})
	check(err)
	is("the undo changed the flag", undone.JSON200.Changed, true)
	is("the status after the undo", read(api).EnvironmentStatuses["production"], "pre_rollout")
	history, err := api.GetFlagHistoryWithResponse(ctx, key, nil)
	check(err)
	is("the commits", len(history.JSON200.History), 3)
}

func otherWrites(api *client.ClientWithResponses) {
	split, err := api.UpdateFlagEnvironmentWithResponse(ctx, key, "production", nil, client.FlagPatch{
		Rollout: &[]client.RolloutEntry{{Value: true, Percent: 33.333}, {Value: false, Percent: 66.667}}})
	check(err)
	weighted, err := split.JSON200.Rules[0].Value.AsWeightedValue()
	check(err)
	is("the weight of the first arm", weighted.Value.WeightedValues[0].Weight, 33333)

	config, err := api.UpdateConfigEnvironmentWithResponse(ctx, "api.timeout", "default", nil, client.ConfigPatch{Value: "PT45S"})
	check(err)
	is("the scope", config.JSON200.Environment, "default")

	level, err := api.UpdateLogLevelWithResponse(ctx, "storefront", nil,
		client.LogLevelPatch{Level: client.DEBUG, Target: to("com.acme.smoke")})
	check(err)
	is("the full key", level.JSON200.Key, "log-level.storefront")
}
