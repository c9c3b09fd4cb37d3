package client

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/testing/must"
)

const plaintext = "correct horse battery staple"

// TestCiphertextFormat pins the documented format with what two others made,
// Python's cryptography and Node's crypto:
// "v2:" + base64(nonce || AESGCM(key).encrypt(nonce, text, "svc:v2:" + item)).
func TestCiphertextFormat(t *testing.T) {
	const sealed = "v2:AAAAAAAAAAAAAAAAvcIjTygUpGS7yAs2eOZhKsdAUOoJMg=="
	if got, err := Decrypt(strings.Repeat("0", 64), "payments.token", sealed); got != "secret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestACiphertextOpensInItsOwnItemOnly: also when the key is the right one.
func TestACiphertextOpensInItsOwnItemOnly(t *testing.T) {
	key := NewKey()
	sealed := must.Get(Encrypt(key, "payments.token", plaintext))(t)
	other := must.Get(Encrypt(key, "by.flag", plaintext))(t)
	config := func(name, value string) string { return documentOf("config", name, "string", always(value)) }
	c := open(t, Options{Getenv: environment(map[string]string{"KEY": key}), Datadir: datadirOf(t, config("key", providedValue("KEY")),
		config("payments.token", encryptedValue("string", sealed, "key")), config("mine", encryptedValue("string", sealed, "key")),
		documentOf("feature_flag", "flag", "string", always(providedValue("KEY"))), config("by.flag", encryptedValue("string", other, "flag")))})
	if got := c.String(t.Context(), "payments.token", ""); got != plaintext {
		t.Errorf("in its own item: %v", c.StringDetails(t.Context(), "payments.token", "").Err)
	}
	if d := c.StringDetails(t.Context(), "by.flag", "or"); d.Value != "or" || d.Err == nil || !strings.Contains(d.Err.Error(), "no such config") {
		t.Errorf("with the key in a flag: %q, %v", d.Value, d.Err)
	}
	if d := c.StringDetails(t.Context(), "mine", "or"); d.Value != "or" || d.Err == nil || !strings.Contains(d.Err.Error(), "another item's") {
		t.Errorf("under another name: %q, %v", d.Value, d.Err)
	}
}

// TestOnlyNamedVariablesAreRead: nil is any.
func TestOnlyNamedVariablesAreRead(t *testing.T) {
	config := func(name, variable string) string {
		return documentOf("config", name, "string", always(providedValue(variable)))
	}
	for _, tt := range []struct {
		names      []string
		mine, path string
	}{
		{nil, "1", "2"}, {[]string{}, "or", "or"}, {[]string{"MINE"}, "1", "or"}, {[]string{"mine", "PATH "}, "or", "or"},
	} {
		c := open(t, Options{Getenv: environment(map[string]string{"MINE": "1", "PATH": "2"}), EnvironmentVariables: tt.names,
			Datadir: datadirOf(t, config("mine", "MINE"), config("path", "PATH"))})
		if mine, path := c.String(t.Context(), "mine", "or"), c.String(t.Context(), "path", "or"); mine != tt.mine || path != tt.path {
			t.Errorf("%q: %q and %q", tt.names, mine, path)
		}
		if d := c.StringDetails(t.Context(), "path", "or"); tt.path == "or" && !strings.Contains(fmt.Sprint(d.Err), "PATH, which Options.EnvironmentVariables does not name") {
			t.Errorf("%q: %v", tt.names, d.Err)
		}
	}
}

// TestTheFormOfBeforeIsRead pins it with a ciphertext that
// another implementation (Python's cryptography) can make:
// base64(nonce || AESGCM(key).encrypt(nonce, text, None)).
func TestTheFormOfBeforeIsRead(t *testing.T) {
	// NIST's test case 14 of AES-256-GCM: key and nonce of zeros, one block
	// of zeros.
	sealed := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", 12) +
		"\xce\xa7\x40\x3d\x4d\x60\x6b\x6e\x07\x4e\xc5\xd3\xba\xf3\x9d\x18" +
		"\xd0\xd1\xc8\xa7\x99\x99\x6b\xf0\x26\x5b\x98\xb5\xd4\x8a\xb9\x19"))
	if got, err := Decrypt(strings.Repeat("0", 64), "any", sealed); err != nil || got != strings.Repeat("\x00", 16) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestBadKeysAndCiphertexts(t *testing.T) {
	key, sealed := NewKey(), ""
	sealed, _ = Encrypt(key, "token", plaintext)
	changed := []byte(sealed)
	changed[20] = map[bool]byte{true: 'B', false: 'A'}[changed[20] == 'A']
	for _, tt := range []struct {
		what, key, text string
		want            error
	}{
		{"no key", "", sealed, errKeyForm},
		{"a short key", key[:32], sealed, errKeyForm},
		{"not hexadecimal", "zz" + key[2:], sealed, errKeyForm},
		{"a line feed", key + "\n", sealed, errKeyForm},
		{"another key", NewKey(), sealed, errCipherKey},
		{"changed", key, string(changed), errCipherKey},
		{"cut", key, sealed[:24], errCipherForm},
		{"empty", key, "", errCipherForm},
		{"not base64", key, "!" + sealed, errCipherForm},
		{"as if it were bound to nothing", key, strings.TrimPrefix(sealed, "v2:"), errCipherKey},
		{"another form", key, "v3:" + strings.TrimPrefix(sealed, "v2:"), errCipherForm},
	} {
		if got, err := Decrypt(tt.key, "token", tt.text); got != "" || err != tt.want {
			t.Errorf("%s: %q, %v", tt.what, got, err)
		}
	}
	if _, err := Encrypt("short", "token", plaintext); err != errKeyForm {
		t.Errorf("encrypting with a short key: %v", err)
	}
}

func FuzzDecrypt(f *testing.F) {
	key := NewKey()
	sealed, _ := Encrypt(key, "token", plaintext)
	f.Add(key, sealed)
	f.Add("", "")
	f.Add(key, "AAAA")
	f.Add(strings.Repeat("0", 64), base64.StdEncoding.EncodeToString(make([]byte, 28)))
	f.Fuzz(func(t *testing.T, key, text string) {
		plain, err := Decrypt(key, "token", text)
		if err != nil && plain != "" {
			t.Fatal("a text beside an error")
		}
		if err != nil && len(key) > 8 && strings.Contains(err.Error(), key) {
			t.Fatal("the key is in the error")
		}
	})
}

// environment is one for provided values.
func environment(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, set := variables[name]
		return v, set
	}
}

func providedValue(name string) string {
	return `{"type":"provided","value":{"source":"ENV_VAR","lookup":"` + name + `"},"confidential":true}`
}

func encryptedValue(kind, text, with string) string {
	return fmt.Sprintf(`{"type":%q,"value":%q,"decryptWith":%q}`, kind, text, with)
}

func TestProvidedValues(t *testing.T) {
	variables := map[string]string{"bool": "true", "string": plaintext, "int": " 42 ", "double": "1e3", "string_list": "a, b", "duration": "PT5S", "json": `{"a":1}`}
	var docs []string
	for kind := range variables {
		docs = append(docs, documentOf("config", kind, kind, always(providedValue(kind))))
	}
	docs = append(docs, documentOf("config", "array", "string_list", always(providedValue("array"))), documentOf("config", "empty", "string_list", always(providedValue("empty"))))
	variables["array"], variables["empty"] = `["x,y"]`, ""
	c := open(t, Options{Datadir: datadirOf(t, docs...), Getenv: environment(variables)})
	for key, want := range map[string]string{
		"bool": "map[bool:true]", "string": "map[string:" + plaintext + "]", "int": "map[double:42 int:42]", "double": "map[double:1000]",
		"string_list": "map[string_list:[a b]]", "duration": "map[duration:5s]", "json": `map[json:{"a":1}]`, "array": "map[string_list:[x,y]]", "empty": "map[string_list:[]]",
	} {
		if got := fmt.Sprint(ask(c, key)); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// TestSecretsStaySecret goes through everything that can be wrong with a
// secret, and looks for its content in the errors and the log.
func TestSecretsStaySecret(t *testing.T) {
	key := NewKey()
	other := NewKey()
	seal := func(name, text string) string {
		return must.Get(Encrypt(key, name, text))(t)
	}
	config := func(name, kind, value string) string { return documentOf("config", name, kind, always(value)) }
	var j journal
	c := open(t, Options{Log: j.log(), Getenv: environment(map[string]string{"KEY": key, "OTHER": other, "SHORT": key[:40], "TEXT": plaintext}), Datadir: datadirOf(t,
		config("key", "string", providedValue("KEY")), config("other", "string", providedValue("OTHER")), config("short", "string", providedValue("SHORT")),
		config("unset", "string", providedValue("UNSET")), config("number", "int", plainValue("int", "5")),
		config("sealed.key", "string", encryptedValue("string", seal("sealed.key", other), "key")),
		config("good", "string", encryptedValue("string", seal("good", plaintext), "key")),
		config("good.int", "int", encryptedValue("int", seal("good.int", "42"), "key")),
		config("twice", "string", encryptedValue("string", func() string { s, _ := Encrypt(other, "twice", plaintext); return s }(), "sealed.key")),
		config("circle", "string", encryptedValue("string", seal("circle", plaintext), "circle")),
		config("wrong.key", "string", encryptedValue("string", seal("wrong.key", plaintext), "other")),
		config("short.key", "string", encryptedValue("string", seal("short.key", plaintext), "short")),
		config("unset.key", "string", encryptedValue("string", seal("unset.key", plaintext), "unset")),
		config("number.key", "string", encryptedValue("string", seal("number.key", plaintext), "number")),
		config("no.key", "string", encryptedValue("string", seal("no.key", plaintext), "nowhere")),
		config("not.int", "int", encryptedValue("int", seal("not.int", plaintext), "key")),
		config("not.json", "json", encryptedValue("json", seal("not.json", plaintext), "key")),
		config("provided.int", "int", providedValue("TEXT")),
		config("odd.source", "string", `{"type":"provided","value":{"source":"VAULT","lookup":"x"}}`),
		config("choosy", "string", encryptedValue("string", seal("choosy", plaintext), "choosy.key")),
		documentOf("config", "choosy.key", "string", when("user.plan", "pro", providedValue("KEY")), when("user.plan", "free", providedValue("OTHER"))),
	)})
	for name, words := range map[string]string{
		"wrong.key": "does not open with this key", "short.key": "64 hexadecimal", "unset.key": "UNSET, which is not set", "number.key": "not a string",
		"no.key": "nowhere does not open it: there is no such config", "not.int": "cannot be read as int", "not.json": "cannot be read as json",
		"provided.int": "TEXT cannot be read as int", "odd.source": "known is ENV_VAR", "unset": "UNSET, which is not set", "circle": "cycle", "choosy": "no value in this context",
	} {
		d := c.AnyDetails(t.Context(), name, nil)
		if d.Err == nil || !strings.Contains(d.Err.Error(), words) || d.Reason != Failed || d.Value != nil {
			t.Errorf("%s: %v, want %q", name, d.Err, words)
			continue
		}
		j.log().Info("seen", "details", d)
		if got := ask(c, name); len(got) > 0 {
			t.Errorf("%s: a getter returns %v", name, got)
		}
	}
	if got := c.String(t.Context(), "good", ""); got != plaintext {
		t.Errorf("decrypted: %q", got)
	}
	if got := c.Int(t.Context(), "good.int", 0); got != 42 {
		t.Errorf("decrypted int: %d", got)
	}
	if got := c.String(t.Context(), "twice", ""); got != plaintext {
		t.Errorf("with a key that is encrypted itself: %q", got)
	}
	for plan, want := range map[string]string{"pro": plaintext, "free": "or"} {
		if got := c.String(t.Context(), "choosy", "or", contexts.Named("user", props{"plan": plan})); got != want {
			t.Errorf("plan %s: %q", plan, got)
		}
	}
	eventually(t, "a warning", func() bool { return j.count("values that cannot be had") == 1 && j.count("UNSET") > 0 })
	for what, secret := range map[string]string{"the text": plaintext, "the key": key, "another key": other, "a short key": key[:40], "ciphertext": seal("x", plaintext)[:8]} {
		if strings.Contains(j.String(), secret) {
			t.Errorf("%s is in the log:\n%s", what, j.String())
		}
	}
}

// TestEndlessKeys: keys behind keys are opened as far as they are few, and a cycle is none.
func TestEndlessKeys(t *testing.T) {
	key := NewKey()
	config := func(name, with string) string {
		sealed := must.Get(Encrypt(key, name, key))(t)
		return documentOf("config", name, "string", always(encryptedValue("string", sealed, with)))
	}
	sealed := must.Get(Encrypt(key, "turn", key))(t)
	docs := []string{config("self", "self"), config("a", "b"), config("b", "a"), config("outside", "b"), config("turned", "turn"), config("above", "turned"),
		documentOf("config", "k0", "string", always(providedValue("KEY"))),
		documentOf("config", "turn", "string", when("user.plan", "pro", providedValue("KEY")), always(encryptedValue("string", sealed, "turned")))}
	for i := range 6 {
		docs = append(docs, config(fmt.Sprint("k", i+1), fmt.Sprint("k", i)))
	}
	c := open(t, Options{Datadir: datadirOf(t, docs...), Getenv: environment(map[string]string{"KEY": key})})
	for _, name := range []string{"self", "a", "outside", "above", "k6"} {
		if d := c.StringDetails(t.Context(), name, ""); d.Err == nil || !strings.Contains(d.Err.Error(), "is behind more than 4 keys that are encrypted themselves, or decryptWith is a cycle") {
			t.Errorf("%s: %v", name, d.Err)
		}
	}
	for _, name := range []string{"k5", "k1"} {
		if got := c.String(t.Context(), name, ""); got != key {
			t.Errorf("%s is not opened: %v", name, c.StringDetails(t.Context(), name, "").Err)
		}
	}
	if got := c.String(t.Context(), "above", "", contexts.Named("user", props{"plan": "pro"})); got != key {
		t.Error("a cycle in one context is remembered in another")
	}
	if got := c.String(t.Context(), "above", "or"); got != "or" {
		t.Error("what one context opens, another is served")
	}
}

func TestTheSDKKeyIsNeverShown(t *testing.T) {
	const key = "svc_sk_very_secret_indeed"
	s := newServer(t)
	s.reply(func(w http.ResponseWriter, r *http.Request) {
		_, sent, _ := r.BasicAuth()
		w.WriteHeader(401)
		fmt.Fprintf(w, `{"error":"UNAUTHORIZED","message":"the key %s is not known"}`, sent)
	})
	var j journal
	o := Options{URL: s.URL, Key: key, Log: j.log(), FirstLoad: 5 * time.Second}
	if _, err := Open(t.Context(), o); err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), redacted) {
		t.Errorf("error: %v", err)
	}
	for what, shown := range map[string]string{"options": fmt.Sprintf("%v %+v %#v %s", o, o, o, o), "log": j.String()} {
		if strings.Contains(shown, key) {
			t.Errorf("%s: %s", what, shown)
		}
	}
}
