package webhook_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/webhook"
)

// names answers questions for names over UDP: what each answers in turn, the last one on and on.
func names(t *testing.T, answers map[string][]string) (*net.Resolver, *atomic.Int32) {
	t.Helper()
	server := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { server.Close() })
	asked, times := &atomic.Int32{}, map[string]int{}
	go func() {
		for {
			q := make([]byte, 512)
			n, from, err := server.ReadFrom(q)
			if err != nil {
				return
			}
			name, at := "", 12
			for q[at] != 0 {
				name += string(q[at+1:at+1+int(q[at])]) + "."
				at += 1 + int(q[at])
			}
			kind := binary.BigEndian.Uint16(q[at+1:])
			answer := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:at+5]...)
			all := answers[name]
			if ip := netip.MustParseAddr(all[min(times[name], len(all)-1)]); kind == 1 && ip.Is4() || kind == 28 && ip.Is6() {
				asked.Add(1)
				times[name]++
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(ip.BitLen()/8))
				answer = append(answer, ip.AsSlice()...)
			}
			_, _ = server.WriteTo(answer, from)
			_ = n
		}
	}()
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}, asked
}

// TestAddressesThatAreRefused, however they are written.
func TestAddressesThatAreRefused(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	resolver, asked := names(t, map[string][]string{
		"metadata.test.": {"169.254.169.254"}, "loop.test.": {"127.0.0.1"}, "six.test.": {"::1"}, "mapped.test.": {"::ffff:127.0.0.1"},
		"rebinds.test.": {"93.184.215.14", "127.0.0.1"},
	})
	client := webhook.Client(nil, resolver)
	if found := must.Get(resolver.LookupHost(t.Context(), "rebinds.test"))(t); found[0] != "93.184.215.14" {
		t.Fatalf("checked as %s", found)
	}
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "224.0.0.1", "255.255.255.255",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]",
		"[fd00:ec2::254]", "[fe80::1]", "[fec0::1]", "[ff02::1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]",
		"localhost", "metadata.test", "loop.test", "six.test", "mapped.test", "rebinds.test",
	} {
		for _, scheme := range []string{"http://", "https://"} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, scheme+host+port+"/latest/meta-data", nil))(t)
			if _, err := client.Do(r); err == nil || !strings.Contains(err.Error(), "private network") {
				t.Errorf("%s%s: %v", scheme, host, err)
			}
			cancel()
		}
	}
	if hits.Load() != 0 || asked.Load() == 0 {
		t.Errorf("%d requests arrived, %d names were asked", hits.Load(), asked.Load())
	}
	if _, err := webhook.Client(must.Get(webhook.ReadAllowed([]string{"127.0.0.1"}))(t), resolver).Post("http://loop.test"+port, "", nil); err != nil || hits.Load() != 1 {
		t.Errorf("what is allowed: %v", err)
	}
	if _, err := webhook.ReadAllowed([]string{"10.0.0.0/8", "fd00::/8", "10.0.0.1/33", "here"}); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("what is no range: %v", err)
	}
}

// TestNoProxyIsAsked: it would resolve names by itself.
func TestNoProxyIsAsked(t *testing.T) {
	var hits atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	resolver, _ := names(t, map[string][]string{"metadata.test.": {"169.254.169.254"}})
	if _, err := webhook.Client(nil, resolver).Post("http://metadata.test/", "", nil); err == nil || hits.Load() != 0 {
		t.Errorf("%d requests to the proxy, %v", hits.Load(), err)
	}
}

// TestReceiversThatAreNoGood: each is an attempt that has failed, with a reason that says
// nothing of the path.
func TestReceiversThatAreNoGood(t *testing.T) {
	slow := make(chan struct{})
	for name, c := range map[string]struct {
		answer func(got, http.ResponseWriter)
		want   string
	}{
		"redirects": {func(_ got, w http.ResponseWriter) {
			w.Header().Set("Location", "http://169.254.169.254/latest")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "the answer is 307, a redirect, which is not followed"},
		"resets":                 {func(got, http.ResponseWriter) { panic(http.ErrAbortHandler) }, "EOF"},
		"sends too many headers": {func(_ got, w http.ResponseWriter) { w.Header().Set("A", strings.Repeat("a", 1<<20)) }, "server response headers exceeded"},
		"sends on and on": {func(_ got, w http.ResponseWriter) {
			for range 1 << 10 {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		}, ""},
		"is slow": {func(got, http.ResponseWriter) { <-slow }, "no answer within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), webhook.FormStandard)
			w.answer = c.answer
			if name == "is slow" {
				w.sender.Client.Timeout = time.Second
				defer close(slow)
			}
			a := must.Get(w.manager.Test(t.Context(), w.hook.ID))(t)
			if !strings.Contains(a.Problem, c.want) || c.want == "" && a.Problem != "" || len(a.Answer) > 1<<10 || strings.Contains(a.Problem, "secret-path") {
				t.Errorf("%+v", a)
			}
		})
	}
}
