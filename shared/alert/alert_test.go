package alert_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/alert"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

const (
	topic  = "arn:aws:sns:eu-west-1:123456789012:alarms"
	amazon = "https://sns.eu-west-1.amazonaws.com/"
	file   = amazon + "SimpleNotificationService-0123.pem"
)

var now = time.Date(2026, 3, 4, 10, 15, 0, 0, time.UTC)

// fetched answers for Amazon.
type fetched struct {
	asked   []string
	answers map[string]string
	status  int
}

func (f *fetched) RoundTrip(r *http.Request) (*http.Response, error) {
	f.asked = append(f.asked, r.URL.String())
	answer := &http.Response{StatusCode: f.status, Header: http.Header{"Location": {"https://evil.example/"}}, Body: io.NopCloser(strings.NewReader(f.answers[r.URL.String()])), Request: r}
	return answer, nil
}

func certificate(t *testing.T, until time.Time) (*rsa.PrivateKey, string) {
	t.Helper()
	key := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sns.amazonaws.com"}, NotBefore: now.Add(-time.Hour), NotAfter: until}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

type message map[string]string

func (m message) sign(t *testing.T, key *rsa.PrivateKey) {
	fields := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if m["Type"] != "Notification" {
		fields = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	var text bytes.Buffer
	for _, name := range fields {
		if value, there := m[name]; there {
			text.WriteString(name + "\n" + value + "\n")
		}
	}
	sum := sha256.Sum256(text.Bytes())
	m["Signature"] = base64.StdEncoding.EncodeToString(must.Get(rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:]))(t))
}

func TestMessagesOfSNS(t *testing.T) {
	key, good := certificate(t, now.Add(time.Hour))
	other, _ := certificate(t, now.Add(time.Hour))
	old, expired := certificate(t, now.Add(-time.Minute))
	const confirm = amazon + "?Action=ConfirmSubscription&Token=1"
	subscription := func(m message) { m["Type"], m["Token"], m["SubscribeURL"] = "SubscriptionConfirmation", "1", confirm }
	const forged, away = "forged", "away"
	for name, test := range map[string]struct {
		edit  func(m message) // before it is signed
		after func(m message)
		key   *rsa.PrivateKey
		topic string
		want  string
		asked string
	}{
		"a notification":             {want: "Notification", asked: file},
		"with a subject":             {edit: func(m message) { m["Subject"] = "ALARM" }, want: "Notification", asked: file},
		"a subscription":             {edit: subscription, want: "SubscriptionConfirmation", asked: file + " " + confirm},
		"the end of a subscription":  {edit: func(m message) { subscription(m); m["Type"] = "UnsubscribeConfirmation" }, want: "UnsubscribeConfirmation", asked: file},
		"another message":            {after: func(m message) { m["Message"] = "other" }, want: forged, asked: file},
		"a subject that was added":   {after: func(m message) { m["Subject"] = "x" }, want: forged, asked: file},
		"another time":               {after: func(m message) { m["Timestamp"] = "2026-03-05T10:15:00.000Z" }, want: forged, asked: file},
		"another key":                {key: other, want: forged, asked: file},
		"version 1":                  {edit: func(m message) { m["SignatureVersion"] = "1" }, want: forged},
		"no version":                 {edit: func(m message) { delete(m, "SignatureVersion") }, want: forged},
		"no signature":               {after: func(m message) { delete(m, "Signature") }, want: forged, asked: file},
		"no base64":                  {after: func(m message) { m["Signature"] = "%" }, want: forged},
		"another topic":              {edit: func(m message) { m["TopicArn"] = topic + "2" }, want: forged},
		"no topic is configured":     {topic: "none", want: forged},
		"another type":               {edit: func(m message) { m["Type"] = "Other" }, want: forged},
		"another host":               {edit: func(m message) { m["SigningCertURL"] = "https://evil.example/x.pem" }, want: forged},
		"a host that begins so":      {edit: func(m message) { m["SigningCertURL"] = "https://sns.eu-west-1.amazonaws.com.evil.example/x.pem" }, want: forged},
		"a host that ends so":        {edit: func(m message) { m["SigningCertURL"] = "https://x.sns.eu-west-1.amazonaws.com/x.pem" }, want: forged},
		"another region":             {edit: func(m message) { m["SigningCertURL"] = "https://sns.us-east-1.amazonaws.com/x.pem" }, want: forged},
		"a bucket":                   {edit: func(m message) { m["SigningCertURL"] = "https://s3.eu-west-1.amazonaws.com/x.pem" }, want: forged},
		"a user name":                {edit: func(m message) { m["SigningCertURL"] = "https://sns.eu-west-1.amazonaws.com@evil.example/x.pem" }, want: forged},
		"a port":                     {edit: func(m message) { m["SigningCertURL"] = "https://sns.eu-west-1.amazonaws.com:444/x.pem" }, want: forged},
		"not encrypted":              {edit: func(m message) { m["SigningCertURL"] = "http://sns.eu-west-1.amazonaws.com/x.pem" }, want: forged},
		"no certificate's file":      {edit: func(m message) { m["SigningCertURL"] = amazon + "?Action=Publish" }, want: forged},
		"a query":                    {edit: func(m message) { m["SigningCertURL"] = file + "?x=1" }, want: forged},
		"a certificate that is over": {edit: func(m message) { m["SigningCertURL"] = amazon + "old.pem" }, key: old, want: forged, asked: amazon + "old.pem"},
		"no certificate":             {edit: func(m message) { m["SigningCertURL"] = amazon + "none.pem" }, want: forged, asked: amazon + "none.pem"},
		"one that is too long":       {edit: func(m message) { m["SigningCertURL"] = amazon + "long.pem" }, want: away, asked: amazon + "long.pem"},
		"it confirms elsewhere":      {edit: func(m message) { subscription(m); m["SubscribeURL"] = "https://evil.example/" }, want: forged, asked: file},
		"it confirms in the clear":   {edit: func(m message) { subscription(m); m["SubscribeURL"] = "http://sns.eu-west-1.amazonaws.com/" }, want: forged, asked: file},
	} {
		t.Run(name, func(t *testing.T) {
			m := message{"Type": "Notification", "MessageId": "1", "TopicArn": topic, "Message": "m", "Timestamp": "2026-03-04T10:15:00.000Z", "SignatureVersion": "2", "SigningCertURL": file}
			if test.edit != nil {
				test.edit(m)
			}
			by := key
			if test.key != nil {
				by = test.key
			}
			if m.sign(t, by); test.after != nil {
				test.after(m)
			}
			of := topic
			if test.topic == "none" {
				of = ""
			}
			f := &fetched{status: 200, answers: map[string]string{file: good, amazon + "old.pem": expired, amazon + "long.pem": strings.Repeat("x", 65<<10)}}
			sns := alert.NewSNS(&http.Client{Transport: f}, func() time.Time { return now })
			tree := must.Get(jsontree.Parse(must.Get(json.Marshal(m))(t)))(t)
			got, err := sns.Read(context.Background(), tree, of)
			switch {
			case errors.Is(err, alert.ErrForged):
				got = forged
			case errors.Is(err, alert.ErrAway):
				got = away
			}
			if asked := strings.Join(f.asked, " "); got != test.want || asked != test.asked {
				t.Errorf("%s (%v), asked for %q", got, err, asked)
			}
			if test.want != "Notification" {
				return
			}
			if _, err := sns.Read(context.Background(), tree, of); err != nil || len(f.asked) != 1 {
				t.Errorf("again: %v, asked for %q", err, f.asked)
			}
		})
	}
}

// TestAmazonIsAskedOnce: no redirect is followed, and what is away is not forged.
func TestAmazonIsAskedOnce(t *testing.T) {
	key, _ := certificate(t, now.Add(time.Hour))
	m := message{"Type": "Notification", "MessageId": "1", "TopicArn": topic, "Message": "m", "SignatureVersion": "2", "SigningCertURL": file}
	m.sign(t, key)
	for _, status := range []int{302, 404, 500} {
		f := &fetched{status: status}
		sns := alert.NewSNS(&http.Client{Transport: f}, func() time.Time { return now })
		_, err := sns.Read(context.Background(), must.Get(jsontree.Parse(must.Get(json.Marshal(m))(t)))(t), topic)
		if !errors.Is(err, alert.ErrAway) || len(f.asked) != 1 {
			t.Errorf("%d: %v, asked for %q", status, err, f.asked)
		}
	}
}

func TestAlertsOfAlertmanager(t *testing.T) {
	const two = `{"version": "4", "alerts": [{"status": "firing", "labels": {"alertname": "A"}, "startsAt": "2026-03-04T10:00:00Z"}, %s]}`
	for text, want := range map[string]string{
		`{"version": "4", "status": "firing", "alerts": [{"status": "firing", "labels": {"alertname": "A"}, "annotations": {"summary": "s"}, "startsAt": "2026-03-04T10:00:00.5Z"}]}`: "A fires 10:00:00 s",
		strings.Replace(two, "%s", `{"status": "firing", "labels": {"alertname": "B"}, "startsAt": "2026-03-04T11:00:00+01:00"}`, 1):                                                  "A fires 10:00:00 ",
		strings.Replace(two, "%s", `{"status": "firing", "labels": {"alertname": "B"}, "startsAt": "2026-03-04T10:01:00Z"}`, 1):                                                       "B fires 10:01:00 ",
		strings.Replace(two, "%s", `{"status": "resolved", "labels": {"alertname": "B"}, "startsAt": "2026-03-04T10:01:00Z"}`, 1):                                                     "A fires 10:00:00 ",
		strings.Replace(two, "%s", `{"status": "firing", "labels": {}, "startsAt": "yesterday"}`, 1):                                                                                  "error",
		`{"version": "4", "status": "resolved", "alerts": [{"status": "resolved", "startsAt": "2026-03-04T10:00:00Z"}]}`:                                                              "none",
		`{"version": "4", "alerts": []}`:                        "none",
		`{"version": "4", "alerts": [1, {"status": "firing"}]}`: "error",
		`{"version": "3", "alerts": []}`:                        "error",
		`{"alerts": {}}`:                                        "error",
		`{"version": "4", "alerts": [{"status": "firing", "startsAt": "0001-01-01T00:00:00Z"}]}`: "error",
	} {
		a, fires, err := alert.OfAlertmanager(must.Get(jsontree.Parse([]byte(text)))(t))
		got := a.Says + " " + a.Began.UTC().Format(time.TimeOnly) + " " + a.Words
		if err != nil {
			got = "error"
		} else if !fires {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

func TestAlarmsOfCloudWatch(t *testing.T) {
	for text, want := range map[string]string{
		`{"AlarmName": "errors", "NewStateValue": "ALARM", "NewStateReason": "r", "StateChangeTime": "2026-03-04T10:00:00.123+0000"}`: "the alarm errors rings 10:00:00 r",
		`{"AlarmName": "errors", "NewStateValue": "ALARM", "StateChangeTime": "2026-03-04T11:00:00+01:00"}`:                           "the alarm errors rings 10:00:00 ",
		`{"AlarmName": "errors", "NewStateValue": "OK", "StateChangeTime": "2026-03-04T10:00:00.123+0000"}`:                           "none",
		`{"AlarmName": "errors", "NewStateValue": "ALARM"}`:                                                                           "error",
		`{"AlarmName": "errors"}`: "error",
		`Hello`:                   "error",
		`[]`:                      "error",
	} {
		a, rings, err := alert.OfCloudWatch(text)
		got := a.Says + " " + a.Began.UTC().Format(time.TimeOnly) + " " + a.Words
		if err != nil {
			got = "error"
		} else if !rings {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
