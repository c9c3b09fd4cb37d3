// Command manifest asks for a manifest, and changes it, as the OpenFeature CLI does:
// with a client that oapi-codegen generates from the CLI's own description, sync.yaml,
// which every request and every answer is held against. It ends with status 1 at the
// first answer that is not as it should be.
//
// sync.yaml is api/v0/sync.yaml of https://github.com/open-feature/cli as it is at
// v0.4.1-3-gc2688a7, the Manifest Management API 0.1.0, under the Apache License 2.0.
// The package client is not here: it is generated in a copy of this folder.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"contract.example/goclient/manifest/client"
)

var ctx = context.Background()

func main() {
	description := described()
	boss := newAPI(description, os.Getenv("KEY"))
	reads(boss)
	for _, f := range flags {
		creates(boss, f)
	}
	refusals(boss)
	strangers(newAPI(description, "svc_uk_nobody"), newAPI(description, os.Getenv("READER")))
	for _, f := range flags {
		deletes(boss, f.key)
	}
	fmt.Println("ok")
}

// flags are one of each type that the description knows, with another default value.
var flags = []struct{ key, kind, first, second string }{
	{"cli.boolean", "boolean", `true`, `false`},
	{"cli.string", "string", `"a"`, `"b"`},
	{"cli.integer", "integer", `1`, `9007199254740993`},
	{"cli.object", "object", `{"a":[1,null]}`, `{}`},
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

// held is a transport that holds what it carries against a description.
type held struct {
	router    routers.Router
	malformed bool // the requests are, on purpose
}

func described() *held {
	doc, err := openapi3.NewLoader().LoadFromFile("manifest/sync.yaml")
	check(err)
	doc.Servers = openapi3.Servers{{URL: os.Getenv("SVC")}}
	router, err := legacy.NewRouter(doc)
	check(err)
	return &held{router: router}
}

// RoundTrip implements http.RoundTripper.
func (h *held) RoundTrip(r *http.Request) (*http.Response, error) {
	route, parameters, err := h.router.FindRoute(r)
	if err != nil {
		return nil, fmt.Errorf("the description lacks %s %s: %w", r.Method, r.URL, err)
	}
	asked := &openapi3filter.RequestValidationInput{Request: r, PathParams: parameters, Route: route, Options: &openapi3filter.Options{
		IncludeResponseStatus: true, MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if err := openapi3filter.ValidateRequest(ctx, asked); (err != nil) != h.malformed {
		return nil, fmt.Errorf("%s %s: the request is malformed: %v", r.Method, r.URL, err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	told := &openapi3filter.ResponseValidationInput{RequestValidationInput: asked, Status: answer.StatusCode, Header: answer.Header, Options: asked.Options}
	if err := openapi3filter.ValidateResponse(ctx, told.SetBodyBytes(body)); err != nil {
		return nil, fmt.Errorf("%s %s answers %d %s: %w", r.Method, r.URL, answer.StatusCode, body, err)
	}
	return answer, nil
}

type api struct {
	*client.ClientWithResponses
	held *held
}

func newAPI(h *held, key string) api {
	own := *h
	c, err := client.NewClientWithResponses(os.Getenv("SVC"), client.WithHTTPClient(&http.Client{Transport: &own}),
		client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		}))
	check(err)
	return api{c, &own}
}

// raw is a default value.
func raw(text string) (v client.FlagDefaultValue) {
	check(json.Unmarshal([]byte(text), &v))
	return v
}

func text(v client.FlagDefaultValue) string {
	b, err := json.Marshal(v)
	check(err)
	return string(b)
}

// find reads a flag from the manifest, nil when it is not there.
func (a api) find(key string) *client.ManifestFlag {
	all, err := a.GetOpenfeatureV0ManifestWithResponse(ctx)
	check(err)
	is("the manifest", all.StatusCode(), http.StatusOK)
	for _, f := range all.JSON200.Flags {
		if f.Key == key {
			return &f
		}
	}
	return nil
}

func reads(a api) {
	all, err := a.GetOpenfeatureV0ManifestWithResponse(ctx)
	check(err)
	is("what the key may do", all.HTTPResponse.Header.Get("X-Manifest-Capabilities"), "read,write,delete")
	is("what is left out", all.HTTPResponse.Header.Get("X-Manifest-Omitted"), "0")
	f := a.find("new-checkout")
	is("a flag's type", f.Type, "boolean")
	is("its default value", text(f.DefaultValue), "false")
}

func creates(a api, f struct{ key, kind, first, second string }) {
	name, description := "By hand", "Made by a generated client"
	made, err := a.PostOpenfeatureV0ManifestFlagsWithResponse(ctx, client.PostOpenfeatureV0ManifestFlagsJSONRequestBody{
		Key: f.key, Type: client.PostOpenfeatureV0ManifestFlagsJSONBodyType(f.kind), Name: &name, Description: &description, DefaultValue: raw(f.first)})
	check(err)
	is(f.key+" created", made.StatusCode(), http.StatusCreated)
	is(f.key+" as it was made", text(made.JSON201.Flag.DefaultValue), f.first)
	stored := a.find(f.key)
	is(f.key+" in the manifest", text(stored.DefaultValue)+*stored.Name+*stored.Description+string(stored.Type), f.first+name+description+f.kind)

	second := raw(f.second)
	changed, err := a.PutOpenfeatureV0ManifestFlagsKeyWithResponse(ctx, f.key, client.PutOpenfeatureV0ManifestFlagsKeyJSONRequestBody{
		Key: f.key, Type: client.PutOpenfeatureV0ManifestFlagsKeyJSONBodyType(f.kind), DefaultValue: &second})
	check(err)
	is(f.key+" changed", changed.StatusCode(), http.StatusOK)
	stored = a.find(f.key)
	is(f.key+" as it is then", text(stored.DefaultValue)+*stored.Name, f.second+name)
	is(f.key+" has a description", stored.Description != nil, false)
}

func refusals(a api) {
	post := func(key, kind, value string) *client.PostOpenfeatureV0ManifestFlagsResponse {
		r, err := a.PostOpenfeatureV0ManifestFlagsWithResponse(ctx, client.PostOpenfeatureV0ManifestFlagsJSONRequestBody{
			Key: key, Type: client.PostOpenfeatureV0ManifestFlagsJSONBodyType(kind), DefaultValue: raw(value)})
		check(err)
		return r
	}
	put := func(path, key, kind string) *client.PutOpenfeatureV0ManifestFlagsKeyResponse {
		r, err := a.PutOpenfeatureV0ManifestFlagsKeyWithResponse(ctx, path, client.PutOpenfeatureV0ManifestFlagsKeyJSONRequestBody{
			Key: key, Type: client.PutOpenfeatureV0ManifestFlagsKeyJSONBodyType(kind)})
		check(err)
		return r
	}
	held := post("CLI.boolean", "boolean", "true").JSON409.Error
	is("a key that is held", *(*held.Details)[0].Field+" "+*(*held.Details)[0].Code, "key ALREADY_EXISTS")
	is("a value of another type", *(*post("cli.other", "integer", `"a"`).JSON400.Error.Details)[0].Field, "defaultValue")
	is("another key", *(*put("cli.string", "cli.other", "string").JSON400.Error.Details)[0].Field, "key")
	is("another type", put("cli.string", "cli.string", "boolean").JSON409.Error.Status, http.StatusConflict)
	is("no such flag", put("cli.none", "cli.none", "boolean").JSON404.Error.Status, http.StatusNotFound)
	a.held.malformed = true
	is("an unknown type", *(*post("cli.other", "float", "1.5").JSON400.Error.Details)[0].Field, "type")
	a.held.malformed = false
}

func strangers(stranger, reader api) {
	unknown, err := stranger.GetOpenfeatureV0ManifestWithResponse(ctx)
	check(err)
	is("a stranger", unknown.JSON401.Error.Status, http.StatusUnauthorized)
	refused, err := stranger.DeleteOpenfeatureV0ManifestFlagsKeyWithResponse(ctx, "cli.string")
	check(err)
	is("a stranger who deletes", refused.JSON401.Error.Status, http.StatusUnauthorized)

	all, err := reader.GetOpenfeatureV0ManifestWithResponse(ctx)
	check(err)
	is("what a reader may do", all.HTTPResponse.Header.Get("X-Manifest-Capabilities"), "read")
	created, err := reader.PostOpenfeatureV0ManifestFlagsWithResponse(ctx, client.PostOpenfeatureV0ManifestFlagsJSONRequestBody{Key: "cli.other", Type: "boolean", DefaultValue: raw("true")})
	check(err)
	is("a reader who creates", *(*created.JSON403.Error.Details)[0].Code, "PERMISSION_DENIED")
	changed, err := reader.PutOpenfeatureV0ManifestFlagsKeyWithResponse(ctx, "cli.string", client.PutOpenfeatureV0ManifestFlagsKeyJSONRequestBody{Key: "cli.string", Type: "string"})
	check(err)
	is("a reader who changes", changed.JSON403.Error.Status, http.StatusForbidden)
	deleted, err := reader.DeleteOpenfeatureV0ManifestFlagsKeyWithResponse(ctx, "cli.string")
	check(err)
	is("a reader who deletes", deleted.JSON403.Error.Status, http.StatusForbidden)
}

func deletes(a api, key string) {
	deleted, err := a.DeleteOpenfeatureV0ManifestFlagsKeyWithResponse(ctx, key)
	check(err)
	is(key+" deleted", deleted.StatusCode(), http.StatusOK)
	is(key+" is there", a.find(key) != nil, false)
	again, err := a.DeleteOpenfeatureV0ManifestFlagsKeyWithResponse(ctx, key)
	check(err)
	is(key+" deleted again", again.JSON404.Error.Status, http.StatusNotFound)
}
