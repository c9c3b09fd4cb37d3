package dynamo

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/testing/must"
)

func TestTextsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var touched []repository.Touch
		for i := range rapid.IntRange(0, 5).Draw(t, "touches") {
			touch := repository.Touch{Path: fmt.Sprint(i)}
			if rapid.Bool().Draw(t, "there") {
				touch.Text = append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "text")...)
				touch.Blob = object.Hash(object.Blob, touch.Text).String()
			}
			touched = append(touched, touch)
		}
		texts, ok := packTexts(touched)
		if !ok {
			t.Fatal("not packed")
		}
		if texts == nil {
			return
		}
		got := make([]repository.Touch, len(touched))
		for i, touch := range touched {
			got[i] = touch
			got[i].Text = nil
		}
		must.Do(t, unpackTexts(got, texts))
		for i := range got {
			if !bytes.Equal(got[i].Text, touched[i].Text) || (got[i].Text == nil) != (touched[i].Text == nil) {
				t.Fatalf("%q, want %q", got[i].Text, touched[i].Text)
			}
		}
	})
}

func TestTextsThatAreNotPacked(t *testing.T) {
	blob := strings.Repeat("1", 40)
	random := make([]byte, maxTexts+1000)
	for i, x := 0, uint32(1); i < len(random); i++ {
		x = x*1664525 + 1013904223
		random[i] = byte(x >> 24)
	}
	for name, touched := range map[string][]repository.Touch{
		"without a text":  {{Path: "a", Blob: blob, Text: []byte("a")}, {Path: "b", Blob: blob}},
		"too large":       {{Path: "a", Blob: blob, Text: random}},
		"far too large":   {{Path: "a", Blob: blob, Text: make([]byte, maxPlainTexts+1)}},
		"a bomb of zeros": {{Path: "a", Blob: blob, Text: make([]byte, maxPlainTexts)}, {Path: "b", Blob: blob, Text: []byte("b")}},
	} {
		if _, ok := packTexts(touched); ok {
			t.Errorf("%s: packed", name)
		}
	}
}

func FuzzUnpackTexts(f *testing.F) {
	blob := strings.Repeat("1", 40)
	plain := func(texts []byte) []byte {
		return must.Get(unzip().DecodeAll(texts, nil))(f)
	}
	texts, _ := packTexts([]repository.Touch{{Blob: blob, Text: []byte("one")}, {}, {Blob: blob, Text: []byte{}}})
	f.Add(plain(texts), uint8(5))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, uint8(1))
	f.Fuzz(func(t *testing.T, plain []byte, there uint8) {
		var touched []repository.Touch
		for i := range 8 {
			touch := repository.Touch{}
			if there&(1<<i) != 0 {
				touch.Blob = blob
			}
			touched = append(touched, touch)
		}
		if err := unpackTexts(touched, zip().EncodeAll(plain, nil)); err != nil {
			return
		}
		total := 0
		for _, touch := range touched {
			total += len(touch.Text)
		}
		if total > len(plain) {
			t.Errorf("%d bytes came out of %d", total, len(plain))
		}
		_ = unpackTexts(touched, plain) // what is no frame must not panic either
		_, _ = decodeCommit(plain)
	})
}

// ListAtMost lets rows list fewer packs while a test runs.
func ListAtMost(t *testing.T, most int) {
	before := maxListed
	t.Cleanup(func() { maxListed = before })
	maxListed = most
}

// TestWhatIsListableFitsIntoARow: DynamoDB takes items of at most 400 KB.
func TestWhatIsListableFitsIntoARow(t *testing.T) {
	var packs []string
	for n := range maxListed {
		packs = append(packs, fmt.Sprintf("%040x", n))
	}
	must.Report(t, listable(packs))
	row := item{Key: packsKey("0123456789abcdef"), Attributes: listing(packs, 1<<40)}
	row.Attributes["g"] = table.Number(1 << 40)
	if size := row.Size(); size > 400<<10 {
		t.Errorf("a row of %d packs has %d bytes", len(packs), size)
	}
	if err := listable(append(packs, "one more")); err == nil || !strings.Contains(err.Error(), "svcadmin compact") {
		t.Errorf("one more: %v", err)
	}
}
