package access_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

// around holds keys in the places where careless printing finds them.
type around struct {
	Shown  access.Key
	hidden access.Key
	point  *access.Key
	list   []access.Key
	byName map[string]access.Key
	any    any
}

func wrap(key access.Key) around {
	return around{key, key, &key, []access.Key{key}, map[string]access.Key{"k": key}, key}
}

// forms are the spellings in which a secret could come out.
func forms(t *testing.T, key access.Key) []string {
	t.Helper()
	text := key.Reveal()
	secret := text[56:99]
	raw := secretBytes(t, secret, key)
	return []string{
		text, secret, text[len(text)-6:],
		hex.EncodeToString([]byte(secret[:16])), strings.ToUpper(hex.EncodeToString([]byte(secret[:16]))),
		string(raw), hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
		strings.Trim(fmt.Sprint(raw[:8]), "[]"),
		strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", raw[:8]), "[]byte{"), "}"),
	}
}

// secretBytes decodes the secret without the package's help.
func secretBytes(t *testing.T, secret string, key access.Key) []byte {
	t.Helper()
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	raw := make([]byte, 32)
	for _, digit := range secret {
		carry := strings.IndexRune(digits, digit)
		for i := len(raw) - 1; i >= 0; i-- {
			carry += int(raw[i]) * 62
			raw[i], carry = byte(carry), carry>>8
		}
	}
	if sha256.Sum256(raw) != key.Digest() {
		t.Fatal("the test cannot decode a secret")
	}
	return raw
}

func checkHidden(t *testing.T, how, output string, forms []string) {
	t.Helper()
	for _, form := range forms {
		if strings.Contains(output, form) {
			t.Errorf("%s shows the secret: %s", how, output)
			return
		}
	}
}

func TestKeyIsRedactedUnderEveryVerb(t *testing.T) {
	key := newKey(t, access.KindServiceAccount, 3)
	secret := forms(t, key)
	for _, verb := range strings.Fields("%v %+v %#v %s %q %x %X % x %d %o %b %c %U %t %e %p %T %w %200v %.3s %+q %#q %#x") {
		for _, operand := range []any{key, &key, wrap(key), &around{hidden: key, point: &key}, []any{key}} {
			checkHidden(t, fmt.Sprintf("%s of %T", verb, operand), fmt.Sprintf(verb, operand), secret)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		want := "[service_account key " + string(key.ID()) + ", redacted]"
		if got := fmt.Sprintf(verb, key); got != want {
			t.Errorf("%s prints %q, want %q", verb, got, want)
		}
	}
	if got := fmt.Sprint(access.Key{}, (*access.Key)(nil)); got != "[no key] <nil>" {
		t.Errorf("the zero key and a nil key print %q", got)
	}
}

func TestKeyIsRedactedInErrorsPanicsAndOldLogs(t *testing.T) {
	key := newKey(t, access.KindUser, 4)
	secret := forms(t, key)
	checkHidden(t, "an error", errors.Join(fmt.Errorf("no %v", key), fmt.Errorf("%+v", wrap(key))).Error(), secret)
	var out bytes.Buffer
	log.New(&out, "", 0).Printf("%v %+v", key, wrap(key))
	checkHidden(t, "log", out.String(), secret)
	defer func() { checkHidden(t, "a panic", fmt.Sprint(recover()), secret) }()
	panic(wrap(key))
}

func TestKeyIsRedactedWhenEncoded(t *testing.T) {
	key := newKey(t, access.KindSecretSDK, 5)
	secret := forms(t, key)
	for _, value := range []any{key, &key, wrap(key), []access.Key{key}, map[string]any{"k": key}} {
		encoded := must.Get(json.Marshal(value))(t)
		checkHidden(t, fmt.Sprintf("JSON of %T", value), string(encoded), secret)
	}
	encoded := must.Get(xml.Marshal(key))(t)
	checkHidden(t, "XML", string(encoded), secret)
	if got, err := json.Marshal(key); err != nil || string(got) != `"`+key.String()+`"` {
		t.Errorf("JSON is %s, %v", got, err)
	}
}

func TestKeyIsRedactedInStructuredLogs(t *testing.T) {
	key := newKey(t, access.KindPublicSDK, 6)
	secret := forms(t, key)
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		logger := slog.New(handler).With("with", key)
		logger.Info("key", "key", key, "pointer", &key, "around", wrap(key), "list", []access.Key{key},
			slog.Group("group", "key", key), "error", fmt.Errorf("bad %#v", key))
	}
	if !strings.Contains(out.String(), string(key.ID())) {
		t.Errorf("the log does not say which key: %s", out.String())
	}
	checkHidden(t, "slog", out.String(), secret)
}
