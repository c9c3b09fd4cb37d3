package lru

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAValueThatGrowsMakesOthersGo(t *testing.T) {
	c := New[string, *int](10)
	first := c.Share("a", 1, func() *int { return new(int) })
	c.Share("b", 2, func() *int { return new(int) })
	if again := c.Share("a", 1, func() *int { return nil }); again != first {
		t.Error("it is made twice")
	}
	c.Weigh("a", 11)
	c.Weigh("gone", 1000)
	if _, found := c.Get("b"); found || c.Held() != 11 {
		t.Errorf("%d bytes", c.Held())
	}
}

// Against a plain list.
func TestItHoldsWhatAListWould(t *testing.T) {
	type pair struct {
		key   int
		bytes int64
	}
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(0, 30).Draw(t, "most")
		c := New[int, int](most)
		var want []pair // the one used last in front
		take := func(key int) (p pair, found bool) {
			if i := slices.IndexFunc(want, func(p pair) bool { return p.key == key }); i >= 0 {
				p, found = want[i], true
				want = slices.Delete(want, i, i+1)
			}
			return p, found
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			key := rapid.IntRange(0, 6).Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				p, found := take(key)
				if found {
					want = slices.Insert(want, 0, p)
				}
				if _, got := c.Get(key); got != found {
					t.Fatalf("key %d is found: %v, want %v", key, got, found)
				}
			case 1:
				take(key)
				c.Delete(key)
			case 2:
				bytes := rapid.Int64Range(0, 20).Draw(t, "bytes")
				take(key)
				want = slices.Insert(want, 0, pair{key, bytes})
				c.Put(key, key, bytes)
			case 3:
				if rapid.IntRange(0, 9).Draw(t, "clear") == 0 {
					want = nil
					c.Clear()
				}
			}
			sum := func() (n int64) {
				for _, p := range want {
					n += p.bytes
				}
				return n
			}
			for sum() > most && len(want) > 1 {
				want = want[:len(want)-1]
			}
			var keys []int
			for _, p := range want {
				keys = append(keys, p.key)
			}
			if got := c.Values(); !slices.Equal(got, keys) || c.Held() != sum() {
				t.Fatalf("holds %v of %d bytes, want %v of %d", got, c.Held(), keys, sum())
			}
		}
	})
}
