package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

var ctx = context.Background()

func open(t *testing.T) *bucket.Bucket {
	t.Helper()
	client := standin.S3Client(t)
	return bucket.New(client, standin.Bucket(t, client))
}

func want(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v, want %v", what, err, kind)
	}
}

func TestConditions(t *testing.T) {
	b := open(t)
	first := must.Get(b.Create(ctx, "a/b", bucket.Bytes([]byte("one"))))(t)
	_, err := b.Create(ctx, "a/b", bucket.Bytes([]byte("two")))
	want(t, "created twice", err, fs.ErrExist)
	second, err := b.Replace(ctx, "a/b", first, bucket.Bytes([]byte("three")))
	if err != nil || second == first {
		t.Fatal(second, err)
	}
	_, err = b.Replace(ctx, "a/b", first, bucket.Bytes([]byte("four")))
	want(t, "replaced an old version", err, bucket.ErrChanged)
	_, err = b.Replace(ctx, "missing", first, bucket.Bytes(nil))
	want(t, "replaced what is not there", err, bucket.ErrChanged)
	if got, info, err := b.Get(ctx, "a/b"); err != nil || string(got) != "three" || info.ETag != second || info.Size != 5 {
		t.Errorf("%q, %+v, %v", got, info, err)
	}
	if got, _, err := b.GetAtMost(ctx, "a/b", 5); err != nil || string(got) != "three" {
		t.Errorf("%q, %v", got, err)
	}
	got, info, err := b.GetAtMost(ctx, "a/b", 4)
	want(t, "read more than is wanted", err, bucket.ErrTooLarge)
	if got != nil || info.Size != 5 {
		t.Errorf("%q, %+v", got, info)
	}
}

func TestRanges(t *testing.T) {
	b := open(t)
	content := bytes.Repeat([]byte("0123456789"), 100)
	for key, content := range map[string][]byte{"long": content, "empty": nil} {
		must.Get(b.Put(ctx, key, bucket.Bytes(content)))(t)
	}
	for _, test := range []struct {
		key            string
		offset, length int64
		want           string
	}{
		{"long", 0, 3, "012"}, {"long", 998, 1, "8"}, {"long", 998, 100, "89"}, {"long", 1000, 5, ""}, {"long", 5000, 5, ""},
		{"empty", 0, 10, ""}, {"empty", 7, 10, ""},
	} {
		got, info, err := b.GetRange(ctx, test.key, test.offset, test.length)
		if err != nil || string(got) != test.want {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
		if size := map[string]int64{"long": 1000}[test.key]; info.Size != size {
			t.Errorf("%+v: the size is %d, want %d", test, info.Size, size)
		}
	}
	for _, length := range []int64{0, -1} {
		if _, _, err := b.GetRange(ctx, "long", 0, length); err == nil {
			t.Errorf("%d bytes were read", length)
		}
	}
}

func TestMissing(t *testing.T) {
	b := open(t)
	_, _, err := b.Get(ctx, "missing")
	want(t, "get", err, fs.ErrNotExist)
	_, _, err = b.GetRange(ctx, "missing", 0, 10)
	want(t, "range", err, fs.ErrNotExist)
	_, err = b.Stat(ctx, "missing")
	want(t, "stat", err, fs.ErrNotExist)
	must.Report(t, b.Delete(ctx, "missing"))
	gone := bucket.New(standin.S3Client(t), standin.Name())
	if _, _, err := gone.Get(ctx, "key"); !errors.Is(err, bucket.ErrNoBucket) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, bucket.ErrBusy) {
		t.Errorf("a bucket that does not exist: %v", err)
	}
}

func TestStrangeKeys(t *testing.T) {
	b := open(t)
	for _, key := range []string{"a b", "a+b", "ä/ö%2F", "q?x=1&y", "#hash"} {
		must.Get(b.Put(ctx, key, bucket.Bytes([]byte(key))))(t)
		if got, _, err := b.Get(ctx, key); err != nil || string(got) != key {
			t.Errorf("%q holds %q, %v", key, got, err)
		}
	}
}

func TestListsOfAnyLength(t *testing.T) {
	b := open(t)
	const n = 2300
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < n; i += 8 {
				if _, err := b.Put(ctx, fmt.Sprintf("many/%05d", i), bucket.Bytes(nil)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	must.Get(b.Put(ctx, "many/sub/x", bucket.Bytes(nil)))(t)
	keys := map[string]int{}
	for info, err := range b.List(ctx, "many/") {
		must.Do(t, err)
		keys[info.Key]++
	}
	if len(keys) != n+1 || keys["many/00000"] != 1 || keys["many/02299"] != 1 {
		t.Errorf("%d keys", len(keys))
	}
	folders, objects := 0, 0
	for info, err := range b.Folder(ctx, "many/") {
		must.Do(t, err)
		if info.Folder {
			folders++
		} else {
			objects++
		}
	}
	if folders != 1 || objects != n {
		t.Errorf("%d folders, %d objects", folders, objects)
	}
}

func TestCancelled(t *testing.T) {
	b := open(t)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err := b.Put(cancelled, "key", bucket.Bytes(nil))
	want(t, "put", err, context.Canceled)
	_, _, err = b.Get(cancelled, "key")
	want(t, "get", err, context.Canceled)
	for _, err := range b.List(cancelled, "") {
		want(t, "list", err, context.Canceled)
	}
}

// answering is an S3 that gives the answers of a list, then those of next.
type answering struct {
	lock    sync.Mutex
	answers []func() (*http.Response, error)
	seen    []*http.Request
	next    http.RoundTripper
}

func (a *answering) Do(r *http.Request) (*http.Response, error) {
	a.lock.Lock()
	a.seen = append(a.seen, r)
	var answer func() (*http.Response, error)
	if len(a.answers) > 0 {
		answer, a.answers = a.answers[0], a.answers[1:]
	}
	a.lock.Unlock()
	if answer != nil {
		return answer()
	}
	return a.next.RoundTrip(r)
}

func failing(status int, code string) func() (*http.Response, error) {
	body := "<Error><Code>" + code + "</Code><Message>injected</Message></Error>"
	return func() (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/xml"}}, Body: readCloser(body)}, nil
	}
}

func broken() (*http.Response, error) { return nil, errors.New("connection reset by peer") }

// cutOff answers with a body that ends before its time.
func cutOff() (*http.Response, error) {
	return &http.Response{StatusCode: 200, ContentLength: 100, Header: http.Header{"Content-Length": {"100"}}, Body: readCloser("half")}, nil
}

type body struct{ *bytes.Reader }

func (body) Close() error { return nil }

func readCloser(text string) body { return body{bytes.NewReader([]byte(text))} }

func failingBucket(next http.RoundTripper, answers ...func() (*http.Response, error)) (*bucket.Bucket, *answering) {
	a := &answering{answers: answers, next: next}
	return bucket.New(s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), UsePathStyle: true, HTTPClient: a,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}), "bucket"), a
}

func TestPassingFailures(t *testing.T) {
	fine := func() (*http.Response, error) {
		return &http.Response{StatusCode: 200, ContentLength: 4, Header: http.Header{"Content-Length": {"4"}, "Etag": {`"x"`}}, Body: readCloser("fine")}, nil
	}
	for name, answer := range map[string]func() (*http.Response, error){
		"500": failing(500, "InternalError"), "503": failing(503, "SlowDown"), "409": failing(409, "ConditionalRequestConflict"),
		"503 without a body": func() (*http.Response, error) {
			return &http.Response{StatusCode: 503, Header: http.Header{}, Body: readCloser("")}, nil
		},
	} {
		b, a := failingBucket(nil, answer, answer, fine)
		if _, err := b.Create(ctx, "key", bucket.Bytes([]byte("text"))); err != nil || len(a.seen) != 3 {
			t.Errorf("%s: after %d requests %v", name, len(a.seen), err)
		}
		b, a = failingBucket(nil, answer, answer, answer, answer, answer, answer)
		_, err := b.Create(ctx, "key", bucket.Bytes([]byte("text")))
		want(t, name+" for ever", err, bucket.ErrBusy)
		if len(a.seen) != 6 {
			t.Errorf("%s: %d requests", name, len(a.seen))
		}
	}
	b, _ := failingBucket(nil, cutOff, cutOff, fine)
	if got, _, err := b.Get(ctx, "key"); err != nil || string(got) != "fine" {
		t.Errorf("an answer that was cut off: %q, %v", got, err)
	}
}

func TestNoPatienceBeyondTheDeadline(t *testing.T) {
	var answers []func() (*http.Response, error)
	for range 6 {
		answers = append(answers, failing(503, "SlowDown"))
	}
	b, a := failingBucket(nil, answers...)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err := b.Create(short, "key", bucket.Bytes(nil))
	want(t, "beyond the deadline", err, bucket.ErrBusy)
	if len(a.seen) == 6 {
		t.Error("it went on to the end")
	}
}

func TestRefusedIsNotTriedAgain(t *testing.T) {
	b, a := failingBucket(nil, failing(403, "AccessDenied"))
	_, err := b.Create(ctx, "key", bucket.Bytes(nil))
	if err == nil || errors.Is(err, bucket.ErrBusy) || errors.Is(err, fs.ErrExist) || len(a.seen) != 1 {
		t.Errorf("after %d requests %v", len(a.seen), err)
	}
}

// lossy loses the answer to the first PUT, after it was done.
type lossy struct {
	lock sync.Mutex
	lost int
}

func (l *lossy) Do(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	l.lock.Lock()
	defer l.lock.Unlock()
	if r.Method == http.MethodPut && l.lost == 0 && err == nil {
		l.lost++
		res.Body.Close()
		return broken()
	}
	return res, err
}

// TestLostAnswer: a write meets its own first attempt.
func TestLostAnswer(t *testing.T) {
	plain := standin.S3Client(t)
	name := standin.Bucket(t, plain)
	losing := func() *bucket.Bucket {
		l := &lossy{}
		return bucket.New(standin.S3Client(t, func(o *s3.Options) { o.HTTPClient = l }), name)
	}
	etag, err := losing().Create(ctx, "key", bucket.Bytes([]byte("one")))
	if err != nil {
		t.Fatalf("its own object was taken for another's: %v", err)
	}
	if etag, err = losing().Replace(ctx, "key", etag, bucket.Bytes([]byte("two"))); err != nil {
		t.Fatalf("its own object was taken for another's: %v", err)
	}
	_, err = losing().Create(ctx, "key", bucket.Bytes([]byte("two")))
	want(t, "another's object", err, fs.ErrExist)
	if info, err := bucket.New(plain, name).Stat(ctx, "key"); err != nil || info.ETag != etag {
		t.Errorf("%+v, %v", info, err)
	}
}
