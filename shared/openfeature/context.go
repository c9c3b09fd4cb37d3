package openfeature

import (
	"strings"

	"github.com/open-feature/go-sdk/openfeature"

	"svc.example/svc/shared/contexts"
)

// The property that a targeting key stands in for.
const userContext = "user"

// named maps flat keys to named contexts.
func named(flat openfeature.FlattenedContext) *contexts.Set {
	if len(flat) == 0 {
		return nil
	}
	all := map[string]map[string]any{}
	for name, v := range flat {
		context, property, dotted := strings.Cut(name, ".")
		if !dotted {
			context, property = "", name
		}
		if name != openfeature.TargetingKey {
			in(all, context)[property] = v
		}
	}
	for name, v := range flat {
		spread(all, name, v)
	}
	if key, ok := flat[openfeature.TargetingKey].(string); ok && absent(all[userContext][contexts.Key]) {
		in(all, userContext)[contexts.Key] = key
	}
	return contexts.Of(all)
}

// absent is a property that rules do not see.
func absent(v any) bool { return contexts.ValueOf(v).Kind() == contexts.Absent }

func in(all map[string]map[string]any, context string) map[string]any {
	if all[context] == nil {
		all[context] = map[string]any{}
	}
	return all[context]
}

// spread takes what people write who think in named contexts: an object under
// a name without a dot.
func spread(all map[string]map[string]any, name string, v any) {
	members, ok := v.(map[string]any)
	if !ok || strings.Contains(name, ".") || name == openfeature.TargetingKey {
		return
	}
	for property, v := range members {
		if absent(in(all, name)[property]) {
			in(all, name)[property] = v
		}
	}
}
