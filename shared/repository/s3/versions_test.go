package s3_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/testing/meter"
	"svc.example/svc/shared/testing/must"
)

// largeDocument is a version of a document of so many lines of 50 bytes.
func largeDocument(lines, version int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"key\": \"some-team.a-large-document-of-%d-lines\",\n  \"type\": \"config\",\n", lines)
	state := uint64(lines)
	for i := range lines {
		state = state*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "  \"user-%016x-%016x\": %t,\n", state, state>>7^state<<11, i == version*31%lines)
	}
	return b.String() + "}\n"
}

// TestAVersionIsOneRead: once merged, any version of a document is one request for
// whoever is told its place, the newest takes the bytes that it took before, and
// an old one about twice as many at most.
func TestAVersionIsOneRead(t *testing.T) {
	for _, lines := range []int{100, 1000, 9000} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			m := meter.New()
			b := openBucket(t, func(o *sdk.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
			objects := s3.New(b, prefix, nil)
			h := begin(t, objects)
			const versions = 70
			for i := range versions {
				h.commit(change("configs/large.json", largeDocument(lines, i)), change("configs/small.json", fmt.Sprintln(i)))
			}
			rows := must.Get(h.ledger.Since(ctx, h.at.Head, 0))(t)
			touchOf := func(n int) repository.Touch {
				for _, touch := range rows[n].Touched {
					if touch.Path == "configs/large.json" {
						return touch
					}
				}
				t.Fatal("it was not touched")
				return repository.Touch{}
			}
			blob := func(o *s3.Objects, touch repository.Touch, allowed int) int64 {
				t.Helper()
				m.Take()
				if text, err := o.Blob(ctx, touch); err != nil || object.Hash(object.Blob, text).String() != touch.Blob {
					t.Errorf("%+v: %v", touch, err)
				}
				made := m.Take()
				if requests := made.Requests(); requests["GetObject"] > allowed || len(requests) != 1 {
					t.Errorf("%+v took %v, allowed are %d", touch, made.Requests(), allowed)
				}
				return made.Total().Received
			}
			before := blob(s3.New(b, prefix, never(t)), touchOf(versions-1), 1)
			var packs []string
			for _, c := range rows {
				packs = append(packs, c.Pack)
			}
			merged := must.Get(objects.Merge(ctx, packs, 0, nil))(t)
			if merged.Size > 3*before+versions*2000 {
				t.Errorf("%d versions take %d bytes, one took %d", versions, merged.Size, before)
			}
			for n := range versions {
				touch := touchOf(n)
				place, _ := merged.Place(object.ParseID(touch.Blob))
				touch.Pack, touch.Offset, touch.Length, touch.Base = merged.Name, place.Offset, place.Length, place.Base
				took := blob(s3.New(b, prefix, never(t)), touch, 1)
				if n == versions-1 && (place.Base != 0 || took != before) || took > 9*before/4 {
					t.Errorf("version %d lies at %+v and takes %d bytes, the newest took %d", n, place, took, before)
				}
				if touch.Base = 0; n == 0 { // what it is a difference from was not noted
					blob(s3.New(b, prefix, never(t)), touch, 3)
				}
			}
		})
	}
}
