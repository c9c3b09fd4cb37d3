package sdkapi_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// lossy are objects of which one file is lost at times.
type lossy struct {
	repository.Objects
	path string
	lost atomic.Bool
}

func (l *lossy) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	tree, err := l.Objects.Tree(ctx, head)
	if l.lost.Load() && tree.Files[l.path] != nil {
		delete(tree.Files, l.path)
		tree.Unread[l.path] = &workspace.Unread{Why: "it is gone", Lost: true}
	}
	return tree, err
}

func (l *lossy) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	if l.lost.Load() && touch.Path == l.path {
		return nil, errors.New("it is gone")
	}
	return l.Objects.Blob(ctx, touch)
}

// TestAFileThatIsBackIsServed at the same head, to those too who hold the answer
// without it: the entity tag is another one.
func TestAFileThatIsBackIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flag = `{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]}}`
		w := newWorld(t, map[string]string{"svc.json": `{"environments": ["production"]}`,
			"feature-flags/f.json": flag, "feature-flags/g.json": strings.Replace(flag, `"f"`, `"g"`, 1)})
		objects := &lossy{Objects: w.ledger.Objects(), path: "feature-flags/f.json"}
		w.repo = repository.New(w.ledger, objects)
		keys := map[string]string{
			"/api/v2/configs/eval-with-context/e30": w.key(access.KindPublicSDK, "production"),
			"/api/v2/configs":                       w.key(access.KindSecretSDK, "production"),
		}
		tags := map[string]string{}
		poll := func(want ...string) {
			t.Helper()
			for path, key := range keys {
				a := w.send("GET", path, key, "", "If-None-Match", tags[path])
				var got []string
				for _, name := range []string{"f", "g"} {
					if strings.Contains(a.Body.String(), `"`+name+`"`) {
						got = append(got, name)
					}
				}
				if !slices.Equal(got, want) || (a.Code == 200) != (len(want) > 0) {
					t.Errorf("%s: %d with %v, want %v", path, a.Code, got, want)
				}
				tags[path] = a.Header().Get("ETag")
			}
		}
		objects.lost.Store(true)
		poll("g")
		poll() // it has not changed
		time.Sleep(time.Hour)
		poll()
		objects.lost.Store(false)
		time.Sleep(time.Hour)
		poll("f", "g")
		poll()
	})
}
