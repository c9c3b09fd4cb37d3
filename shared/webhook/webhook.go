package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/workspace"
)

// What a webhook can be told of.
const (
	KindChange  = "change"  // commits
	KindRequest = "request" // change requests
	KindAudit   = "audit"   // what the audit trail tells
	kindPing    = "ping"    // a test
)

// The forms of what is sent.
const (
	FormStandard = "standard" // JSON, as the guide describes it
	FormSlack    = "slack"
	FormTeams    = "teams"
)

// MaxWebhooks is how many a workspace has at most.
const MaxWebhooks = 20

// Webhook is where to tell of what. Of its address only the host is known here.
type Webhook struct {
	ID    access.ID `json:"id"`
	Name  string    `json:"name"`
	Host  string    `json:"host"`
	Kinds []string  `json:"kinds"`
	// The rest leaves out changes: those of other environments only, of items without one of
	// the tags, and of other types. Empty lists leave out nothing.
	Environments []string  `json:"environments"`
	Tags         []string  `json:"tags"`
	Types        []string  `json:"types"`
	Form         string    `json:"form"`
	CreatedAt    time.Time `json:"createdAt"`
	// Silent: what it was sealed by is gone, as after a restore. It needs an address and another secret.
	Silent bool `json:"silent"`
}

// Edit is what a webhook is to be; nil stays as it is.
type Edit struct {
	Name, Address, Form              *string
	Kinds, Environments, Tags, Types *[]string
}

// maxFilter bounds the lists of a filter.
const maxFilter = 50

// apply makes the edit, and says what is wrong with what it makes.
func (e Edit) apply(w *Webhook) error {
	if e.Name != nil {
		w.Name = access.PlainName(*e.Name)
	}
	if e.Form != nil {
		w.Form = *e.Form
	}
	for _, list := range []struct {
		to   *[]string
		from *[]string
	}{{&w.Kinds, e.Kinds}, {&w.Environments, e.Environments}, {&w.Tags, e.Tags}, {&w.Types, e.Types}} {
		if list.from != nil {
			*list.to = slices.Compact(slices.Sorted(slices.Values(*list.from)))
		}
		if *list.to == nil {
			*list.to = []string{}
		}
	}
	if e.Address != nil {
		u, err := readAddress(*e.Address)
		if err != nil {
			return err
		}
		w.Host = u.Scheme + "://" + u.Host
	}
	return w.check()
}

func (w *Webhook) check() error {
	unknown := func(list []string, known ...string) string {
		if i := slices.IndexFunc(list, func(one string) bool { return !slices.Contains(known, one) }); i >= 0 {
			return list[i]
		}
		return ""
	}
	switch {
	case w.Name == "" || len(w.Name) > 100:
		return errors.New("a webhook needs a name of at most 100 bytes")
	case w.Host == "":
		return errors.New("a webhook needs an address")
	case len(w.Kinds) == 0 || unknown(w.Kinds, KindChange, KindRequest, KindAudit) != "":
		return errors.New("kinds are one or more of change, request, audit")
	case unknown([]string{w.Form}, FormStandard, FormSlack, FormTeams) != "":
		return errors.New("the form is one of standard, slack, teams")
	case unknown(w.Types, string(document.Flag), string(document.Config), string(document.LogLevel), string(document.Segment), string(workspace.SchemaType)) != "":
		return errors.New("types are of feature_flag, config, log_level, segment, schema")
	case max(len(w.Environments), len(w.Tags), len(w.Types)) > maxFilter:
		return fmt.Errorf("a filter has at most %d entries", maxFilter)
	}
	for _, text := range slices.Concat(w.Environments, w.Tags) {
		if text == "" || len(text) > 200 {
			return errors.New("environments and tags have 1 to 200 bytes")
		}
	}
	return nil
}

// words are the webhook as the audit trail tells it.
func (w *Webhook) words() []string {
	words := []string{w.Host + "/…", w.Form, "kinds " + strings.Join(w.Kinds, " ")}
	for _, f := range []struct {
		name string
		of   []string
	}{{"environments", w.Environments}, {"tags", w.Tags}, {"types", w.Types}} {
		if len(f.of) > 0 {
			words = append(words, f.name+" "+strings.Join(f.of, " "))
		}
	}
	return words
}

// readAddress reads the address of a receiver.
func readAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > 2048 || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("an address is like https://hooks.example.com/svc, of at most 2048 bytes")
	case u.User != nil || u.Fragment != "":
		return nil, errors.New("an address has no user name and no #")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.Zone() != "" {
		return nil, errors.New("an address names no zone of this machine")
	}
	return u, nil
}

// hidden is what is sealed of a webhook.
type hidden struct {
	Address string `json:"address"`
	Secret  string `json:"secret"` // whsec_ and 32 bytes in base64
	// Previous signs too until Until.
	Previous string    `json:"previous,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

const secretPrefix = "whsec_"

func newSecret() string {
	bytes := make([]byte, 32)
	_, _ = rand.Read(bytes) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(bytes)
}

// signature is what Webhook-Signature holds, as Standard Webhooks 1.0 has it.
func (h *hidden) signature(id string, at time.Time, body []byte) string {
	secrets := []string{h.Secret}
	if h.Previous != "" && at.Before(h.Until) {
		secrets = append(secrets, h.Previous)
	}
	var all []string
	for _, secret := range secrets {
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

// idOf is the Webhook-Id of an event for a webhook: the same each time.
func idOf(webhook access.ID, event string) string {
	sum := sha256.Sum256([]byte(string(webhook) + "\x00" + event))
	return "msg_" + hex.EncodeToString(sum[:16])
}
