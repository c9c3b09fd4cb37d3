package router_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"svc.example/svc/shared/router"
)

func TestAPathIsMatchedAsItWasSent(t *testing.T) {
	named := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s %q %s", name, r.PathValue("key"), r.URL.Path)
		})
	}
	h := router.New([]router.Route{
		{Path: "/items", Handler: named("list")},
		{Path: "/items/{key}", Handler: named("item")},
		{Path: "/items/{key}/history", Handler: named("history")},
		{Path: "/tree/", Handler: named("tree")},
		{Path: "/tree/inner/", Handler: named("inner")},
		{Path: "/both", Handler: named("bare")},
		{Path: "/both/", Handler: named("below")},
		{Path: "/either", Handler: named("either")},
		{Path: "/either/{$}", Handler: named("either")},
	}, named("nothing"))
	for path, want := range map[string]string{
		"/items":             `list "" /items`,
		"//items":            `list "" /items`,
		"///items/a":         `item "a" /items/a`,
		"//items/a%2Fb":      `item "a/b" /items/a/b`,
		"/items/a%2Fb":       `item "a/b" /items/a/b`,
		"/items/.hidden":     `item ".hidden" /items/.hidden`,
		"/items/a.b":         `item "a.b" /items/a.b`,
		"/items/%2E%2E":      `item ".." /items/..`,
		"/items/..":          `nothing "" /items/..`,
		"/items/../items":    `nothing "" /items/../items`,
		"/items/":            `nothing "" /items/`,
		"/items//":           `nothing "" /items//`,
		"/items//history":    `nothing "" /items//history`,
		"/items/a/history":   `history "a" /items/a/history`,
		"/items/a/history/":  `nothing "" /items/a/history/`,
		"/tree":              `nothing "" /tree`,
		"/tree/":             `tree "" /tree/`,
		"/tree/a//b/../c/./": `tree "" /tree/a//b/../c/./`,
		"//tree//":           `tree "" /tree//`,
		"/tree/%2F//%2F":     `tree "" /tree/////`,
		"/tree/inner/a":      `inner "" /tree/inner/a`,
		"/tree/inner":        `tree "" /tree/inner`,
		"/both":              `bare "" /both`,
		"/both/":             `below "" /both/`,
		"/either":            `either "" /either`,
		"/either/":           `either "" /either/`,
		"/either/a":          `nothing "" /either/a`,
		"/":                  `nothing "" /`,
		"//":                 `nothing "" /`,
		"":                   `nothing "" `,
		"*":                  `nothing "" *`,
	} {
		u := &url.URL{Scheme: "http", Host: "svc.test", Path: path}
		if path != "*" {
			u, _ = url.Parse("http://svc.test" + path)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL, r.RequestURI = u, path
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Body.String(); w.Code != 200 || got != want {
			t.Errorf("%s: %d %s, want %s", path, w.Code, got, want)
		}
	}
}
