package control_test

import (
	"encoding/base64"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
)

func TestACursorIsGoodForItsListAndWorkspaceOnly(t *testing.T) {
	files := map[string]string{path("f"): boolFlag("f", ""), path("g"): boolFlag("g", ""), "configs/c.json": configOf("c", "int", "1", "")}
	w := newWorld(t, files)
	s := w.enter()
	cursor := s.Cursor("flags", "f")
	flags := func(s *control.Session, cursor string) error {
		_, err := s.Flags(ctx, control.FlagQuery{PageQuery: feed.PageQuery{Cursor: cursor}})
		return err
	}
	if err := flags(s, cursor); err != nil {
		t.Fatal(err)
	}
	if err := flags(s, ""); err != nil {
		t.Errorf("an empty cursor is as none: %v", err)
	}
	_, err := s.Configs(ctx, control.ConfigQuery{PageQuery: feed.PageQuery{Cursor: cursor}})
	wantRefusal(t, err, "400 BAD_REQUEST")
	_, err = s.Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Cursor: cursor}})
	wantRefusal(t, err, "400 BAD_REQUEST")
	_, err = s.History(ctx, document.Flag, "g", feed.PageQuery{Cursor: s.Cursor("history feature_flag f", "1")})
	wantRefusal(t, err, "400 BAD_REQUEST")

	raw, _ := base64.RawURLEncoding.DecodeString(cursor)
	for name, text := range map[string]string{
		"cut":               cursor[:len(cursor)-1],
		"longer":            cursor + "A",
		"padded":            cursor + "=",
		"with a line break": cursor[:4] + "\n" + cursor[4:],
		"standard alphabet": base64.StdEncoding.EncodeToString(raw),
		"another position":  base64.RawURLEncoding.EncodeToString(append(raw[:len(raw)-1:len(raw)-1], 'g')),
		"another MAC":       base64.RawURLEncoding.EncodeToString(append([]byte{raw[0] ^ 1}, raw[1:]...)),
		"a key":             "f",
		"nothing in it":     s.Cursor("flags", ""),
	} {
		if err := flags(s, text); err == nil {
			t.Errorf("%s: %q is taken", name, text)
		} else {
			wantRefusal(t, err, "400 BAD_REQUEST")
		}
	}

	other := newWorld(t, files)
	other.gate.workspace.Secret = []byte("another sauce")
	wantRefusal(t, flags(other.enter(), cursor), "400 BAD_REQUEST")
}

func FuzzCursor(f *testing.F) {
	w := newWorld(f, map[string]string{path("f"): boolFlag("f", "")})
	s := w.enter()
	issued := s.Cursor("flags", "f")
	f.Add(issued)
	f.Add("")
	f.Add(issued + "\n")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := s.Flags(ctx, control.FlagQuery{PageQuery: feed.PageQuery{Cursor: text}})
		switch {
		case err != nil:
			wantRefusal(t, err, "400 BAD_REQUEST")
		case text != "" && text != issued:
			t.Errorf("%q is taken: %v", text, list)
		}
	})
}
