package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"contract.example/goclient/manifest"
)

// manifests asks for a manifest, and changes it, as the OpenFeature CLI does: with a client
// of the CLI's own description, sync.yaml, which every request and every answer is held
// against.
//
// sync.yaml is api/v0/sync.yaml of https://github.com/open-feature/cli as it is at
// v0.4.1-3-gc2688a7, the Manifest Management API 0.1.0, under the Apache License 2.0.
func manifests() {
	doc := got(openapi3.NewLoader().LoadFromFile("manifest/sync.yaml"))
	doc.Servers = openapi3.Servers{{URL: os.Getenv("SVC")}}
	described := &held{router: got(legacy.NewRouter(doc))}
	boss, reader, stranger := described.newAPI(os.Getenv("KEY")), described.newAPI(os.Getenv("READER")), described.newAPI("svc_uk_nobody")

	all := got(boss.GetOpenfeatureV0ManifestWithResponse(ctx))
	is("what the key may do", all.HTTPResponse.Header.Get("X-Manifest-Capabilities"), "read,write,delete")
	is("what is left out", all.HTTPResponse.Header.Get("X-Manifest-Omitted"), "0")
	for _, f := range []struct{ kind, first, second string }{
		{"boolean", `true`, `false`},
		{"string", `"a"`, `"b"`},
		{"integer", `1`, `9007199254740993`},
		{"object", `{"a":[1,null]}`, `{}`},
	} {
		key, name, description := "cli."+f.kind, "By hand", "Made by a generated client"
		made := boss.post(manifest.PostOpenfeatureV0ManifestFlagsJSONRequestBody{Key: key, Type: manifest.PostOpenfeatureV0ManifestFlagsJSONBodyType(f.kind),
			Name: &name, Description: &description, DefaultValue: raw(f.first)}).JSON201.Flag
		is(key+" as it was made", text(made.DefaultValue)+*made.Name+*made.Description+string(made.Type), f.first+name+description+f.kind)
		boss.put(key, manifest.PutOpenfeatureV0ManifestFlagsKeyJSONRequestBody{Key: key, Type: manifest.PutOpenfeatureV0ManifestFlagsKeyJSONBodyType(f.kind), DefaultValue: new(raw(f.second))})
		stored := boss.find(key)
		is(key+" as it is then", text(stored.DefaultValue)+*stored.Name, f.second+name)
		is(key+" has a description", stored.Description != nil, false)
	}

	flag := manifest.PostOpenfeatureV0ManifestFlagsJSONRequestBody{Key: "CLI.boolean", Type: "boolean", DefaultValue: raw("true")}
	change := manifest.PutOpenfeatureV0ManifestFlagsKeyJSONRequestBody{Key: "cli.string", Type: "string"}
	taken := boss.post(flag).JSON409.Error
	is("a key that is held", *(*taken.Details)[0].Field+" "+*(*taken.Details)[0].Code, "key ALREADY_EXISTS")
	is("another key", *(*boss.put("cli.object", change).JSON400.Error.Details)[0].Field, "key")
	is("no such flag", boss.put("cli.none", manifest.PutOpenfeatureV0ManifestFlagsKeyJSONRequestBody{Key: "cli.none", Type: "string"}).JSON404.Error.Status, http.StatusNotFound)
	described.malformed = true
	is("an unknown type", *(*boss.post(manifest.PostOpenfeatureV0ManifestFlagsJSONRequestBody{Key: "cli.other", Type: "float", DefaultValue: raw("1.5")}).JSON400.Error.Details)[0].Field, "type")
	described.malformed = false

	is("what a reader may do", got(reader.GetOpenfeatureV0ManifestWithResponse(ctx)).HTTPResponse.Header.Get("X-Manifest-Capabilities"), "read")
	is("a reader who creates", *(*reader.post(flag).JSON403.Error.Details)[0].Code, "PERMISSION_DENIED")
	is("a reader who changes", reader.put("cli.string", change).JSON403.Error.Status, http.StatusForbidden)
	is("a reader who deletes", reader.delete("cli.string").JSON403.Error.Status, http.StatusForbidden)
	is("a stranger", got(stranger.GetOpenfeatureV0ManifestWithResponse(ctx)).JSON401.Error.Status, http.StatusUnauthorized)
	is("a stranger who deletes", stranger.delete("cli.string").JSON401.Error.Status, http.StatusUnauthorized)

	is("a deletion", boss.delete("cli.string").StatusCode(), http.StatusOK)
	is("the flag is there", boss.find("cli.string") != nil, false)
	is("a deletion again", boss.delete("cli.string").JSON404.Error.Status, http.StatusNotFound)
}

// held is a transport that holds what it carries against a description.
type held struct {
	router    routers.Router
	malformed bool // the requests are, on purpose
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

type api struct{ *manifest.ClientWithResponses }

func (h *held) newAPI(key string) api {
	return api{got(manifest.NewClientWithResponses(os.Getenv("SVC"), manifest.WithHTTPClient(&http.Client{Transport: h}), manifest.WithRequestEditorFn(as(key))))}
}

func (a api) post(flag manifest.PostOpenfeatureV0ManifestFlagsJSONRequestBody) *manifest.PostOpenfeatureV0ManifestFlagsResponse {
	return got(a.PostOpenfeatureV0ManifestFlagsWithResponse(ctx, flag))
}

func (a api) put(key string, change manifest.PutOpenfeatureV0ManifestFlagsKeyJSONRequestBody) *manifest.PutOpenfeatureV0ManifestFlagsKeyResponse {
	return got(a.PutOpenfeatureV0ManifestFlagsKeyWithResponse(ctx, key, change))
}

func (a api) delete(key string) *manifest.DeleteOpenfeatureV0ManifestFlagsKeyResponse {
	return got(a.DeleteOpenfeatureV0ManifestFlagsKeyWithResponse(ctx, key))
}

// find reads a flag from the manifest, nil when it is not there.
func (a api) find(key string) *manifest.ManifestFlag {
	for _, f := range got(a.GetOpenfeatureV0ManifestWithResponse(ctx)).JSON200.Flags {
		if f.Key == key {
			return &f
		}
	}
	return nil
}

// raw is a default value.
func raw(text string) (v manifest.FlagDefaultValue) {
	check(json.Unmarshal([]byte(text), &v))
	return v
}

func text(v manifest.FlagDefaultValue) string { return string(got(json.Marshal(v))) }
