package httpapi_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/testing/must"
)

type amazon func(*http.Request) string

func (a amazon) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(a(r))), Request: r}, nil
}

// TestAnAlarmTakesBack what named its guard, by a message that is signed.
func TestAnAlarmTakesBack(t *testing.T) {
	w := newWorld(t, shop())
	signer := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: w.clock.Add(-time.Hour), NotAfter: w.clock.Add(48 * time.Hour)}
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: must.Get(x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer))(t)}))
	w.serve(httpapi.Options{Limit: unlimited, PublicURL: "https://svc.test", Amazon: &http.Client{Transport: amazon(func(*http.Request) string { return certificate })}})
	key, _ := w.guardian("engineer")
	w.do("PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true, "guard": "watch"}`).ok()
	tell := func(message string) *reply {
		m := map[string]string{"Message": message, "MessageId": "1", "Timestamp": "t", "TopicArn": "arn:aws:sns:eu-west-1:123456789012:alarms", "Type": "Notification"}
		text := ""
		for _, name := range []string{"Message", "MessageId", "Timestamp", "TopicArn", "Type"} {
			text += name + "\n" + m[name] + "\n"
		}
		sum := sha256.Sum256([]byte(text))
		m["Signature"] = base64.StdEncoding.EncodeToString(must.Get(rsa.SignPKCS1v15(rand.Reader, signer, crypto.SHA256, sum[:]))(t))
		m["SignatureVersion"], m["SigningCertURL"] = "2", "https://sns.eu-west-1.amazonaws.com/x.pem"
		return w.do("POST", "/guards/sns", string(must.Get(json.Marshal(m))(t)), "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("svc:"+key)), "Content-Type: text/plain; charset=UTF-8").ok()
	}
	alarm := `{"AlarmName": "errors", "NewStateValue": "ALARM", "StateChangeTime": "` + w.clock.Add(time.Second).Format("2006-01-02T15:04:05.000-0700") + `"}`
	for _, step := range []struct{ message, want string }{
		{"hello", "nothing is taken back"}, {strings.Replace(alarm, "ALARM", "OK", 1), "nothing is taken back"}, {alarm, "is taken back"}, {alarm, "was taken back already"},
	} {
		if a := tell(step.message); !strings.Contains(a.text("/message"), step.want) {
			t.Errorf("%s: %s", step.message, a.body)
		}
	}
}
