package alert

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/jsontree"
)

// SNS checks what Amazon's Simple Notification Service sends.
type SNS struct {
	client *http.Client
	now    func() time.Time

	mu           sync.Mutex
	certificates map[string]*x509.Certificate // by their addresses
}

// NewSNS asks Amazon by a client, whose redirects are not followed.
func NewSNS(client *http.Client, now func() time.Time) *SNS {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &SNS{client: &own, now: now, certificates: map[string]*x509.Certificate{}}
}

// ErrForged: the message is not to be believed, and the error says why.
var ErrForged = errors.New("not believed")

// ErrAway: Amazon could not be asked.
var ErrAway = errors.New("Amazon could not be asked")

const (
	maxCertificate  = 64 << 10
	maxCertificates = 16
	askedWithin     = 8 * time.Second
)

// What a message is.
const (
	Notification = "Notification"
	confirmation = "SubscriptionConfirmation"
	unsubscribed = "UnsubscribeConfirmation"
)

// signed are the fields that a signature is of, in their order, by the type.
var signed = map[string][]string{
	Notification: {"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"},
	confirmation: {"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"},
	unsubscribed: {"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"},
}

// Read checks a message of the topic, and confirms a subscription that it asks to confirm.
// It returns the type of the message.
func (s *SNS) Read(ctx context.Context, n *jsontree.Node, topic string) (kind string, err error) {
	kind = text(n, "Type")
	switch {
	case topic == "":
		return "", fmt.Errorf("this guard's key names no topic: %w", ErrForged)
	case text(n, "TopicArn") != topic:
		return "", fmt.Errorf("it is of another topic than the guard's key names: %w", ErrForged)
	case signed[kind] == nil:
		return "", fmt.Errorf("its type is none of SNS's: %w", ErrForged)
	case text(n, "SignatureVersion") != "2":
		return "", fmt.Errorf("its signature is not of version 2 (SHA-256), which the topic's attribute SignatureVersion sets: %w", ErrForged)
	}
	host := "sns." + strings.Split(topic, ":")[3] + ".amazonaws.com"
	signature, err := base64.StdEncoding.DecodeString(text(n, "Signature"))
	if err != nil {
		return "", fmt.Errorf("its signature is not in base64: %w", ErrForged)
	}
	certificate, err := s.certificate(ctx, text(n, "SigningCertURL"), host)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, name := range signed[kind] {
		if value, there := n.Get(name).Text(); there {
			all.WriteString(name + "\n" + value + "\n")
		}
	}
	if certificate.CheckSignature(x509.SHA256WithRSA, []byte(all.String()), signature) != nil {
		return "", fmt.Errorf("its signature is wrong: %w", ErrForged)
	}
	if kind == confirmation {
		address := text(n, "SubscribeURL")
		if !at(address, host) {
			return "", fmt.Errorf("the address that confirms the subscription is not https://%s: %w", host, ErrForged)
		}
		_, err = s.ask(ctx, address)
	}
	return kind, err
}

// at reports whether an address is of a host exactly, over TLS.
func at(address, host string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host == host && u.User == nil && u.Opaque == "" && u.Fragment == ""
}

var isCertificate = regexp.MustCompile(`^/[A-Za-z0-9_-]{1,200}\.pem$`).MatchString

func (s *SNS) certificate(ctx context.Context, address, host string) (*x509.Certificate, error) {
	u, err := url.Parse(address)
	if err != nil || !at(address, host) || u.RawQuery != "" || !isCertificate(u.Path) {
		return nil, fmt.Errorf("its certificate is not a file at https://%s: %w", host, ErrForged)
	}
	s.mu.Lock()
	found := s.certificates[address]
	s.mu.Unlock()
	if found == nil {
		body, err := s.ask(ctx, address)
		if err != nil {
			return nil, err
		}
		block, _ := pem.Decode(body)
		if block == nil {
			return nil, fmt.Errorf("what is at the address of its certificate is none: %w", ErrForged)
		}
		if found, err = x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("its certificate cannot be read: %w", ErrForged)
		}
		s.mu.Lock()
		if len(s.certificates) >= maxCertificates {
			clear(s.certificates)
		}
		s.certificates[address] = found
		s.mu.Unlock()
	}
	if now := s.now(); now.Before(found.NotBefore) || now.After(found.NotAfter) {
		return nil, fmt.Errorf("its certificate is not valid now: %w", ErrForged)
	}
	return found, nil
}

// ask reads what is at one of Amazon's addresses.
func (s *SNS) ask(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForged, err)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxCertificate+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	case answer.StatusCode != http.StatusOK || len(body) > maxCertificate:
		return nil, fmt.Errorf("%w: it answers %d with %d bytes or more", ErrAway, answer.StatusCode, len(body))
	}
	return body, nil
}
