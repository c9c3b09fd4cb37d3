package bucket

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Bucket is one bucket. It is safe for concurrent use.
type Bucket struct {
	client *s3.Client
	name   string
}

// New returns a bucket that exists. Of the client's settings it replaces only
// how requests are tried again.
func New(client *s3.Client, name string) *Bucket {
	return &Bucket{client: s3.New(client.Options(), persistent), name: name}
}

// EndpointVariable is the environment variable that names an S3 endpoint which is
// not AWS's own.
const EndpointVariable = "AWS_ENDPOINT_URL_S3"

// Client makes a client of S3. Only AWS has a host of its own for each bucket; an
// endpoint that is not AWS's is told the bucket in the path.
func Client(config aws.Config) *s3.Client {
	return s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = config.BaseEndpoint != nil })
}

// Info is what is known of an object.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time
	ETag     string // names this version of the object
	// Told is the store's own clock when it told this, where List did: an age is
	// Told minus Modified, and the local clock has no say in it. It is zero when
	// the store did not give its time.
	Told time.Time
	// Folder says that this is no object but the common beginning, up to a
	// slash, of the keys of several; see List.
	Folder bool
}

// Content is what is written. It is read from the start for each attempt.
type Content = io.ReadSeeker

// Bytes is a content in memory.
func Bytes(b []byte) Content { return bytes.NewReader(b) }

// mark is the metadata by which a write knows itself again.
const mark = "svc-write"

// Create writes an object that is not there yet; fs.ErrExist if it is.
func (b *Bucket) Create(ctx context.Context, key string, content Content) (etag string, err error) {
	return b.put(ctx, key, content, func(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }, fs.ErrExist)
}

// Replace writes an object if it still is the version given, else ErrChanged.
func (b *Bucket) Replace(ctx context.Context, key, etag string, content Content) (string, error) {
	return b.put(ctx, key, content, func(in *s3.PutObjectInput) { in.IfMatch = &etag }, ErrChanged)
}

// Put writes an object whatever was there.
func (b *Bucket) Put(ctx context.Context, key string, content Content) (etag string, err error) {
	return b.put(ctx, key, content, func(*s3.PutObjectInput) {}, nil)
}

func (b *Bucket) put(ctx context.Context, key string, content Content, condition func(*s3.PutObjectInput), refused error) (string, error) {
	in := &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: content}
	if refused != nil {
		in.Metadata = map[string]string{mark: rand.Text()}
	}
	condition(in)
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	out, err := b.client.PutObject(ctx, in)
	switch status := statusOf(err); {
	case err == nil:
		return aws.ToString(out.ETag), nil
	case refused == nil:
	case status == 412, in.IfMatch != nil && status == 404 && codeOf(err) != noBucket:
		// What is there may be what this very write has left.
		if head, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: &key}); err == nil && head.Metadata[mark] == in.Metadata[mark] {
			return aws.ToString(head.ETag), nil
		}
		return "", fmt.Errorf("%s: %w", key, refused)
	}
	return "", b.explain(ctx, "writing", key, err)
}

// Stat returns what is known of an object; fs.ErrNotExist if there is none.
func (b *Bucket) Stat(ctx context.Context, key string) (Info, error) {
	head, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: &key})
	if err != nil {
		return Info{}, b.explain(ctx, "looking at", key, err)
	}
	return Info{Key: key, Size: aws.ToInt64(head.ContentLength), Modified: aws.ToTime(head.LastModified), ETag: aws.ToString(head.ETag)}, nil
}

// Delete removes an object. That there is none is no error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key})
	if err != nil && statusOf(err) != 404 {
		return b.explain(ctx, "deleting", key, err)
	}
	return nil
}

// noBucket is S3's word for a bucket that does not exist, which is a mistake
// in the configuration and no missing object.
const noBucket = "NoSuchBucket"

// ErrNoBucket: there is no such bucket, or not any more.
var ErrNoBucket = errors.New("the bucket does not exist")

// explain puts an error of the SDK into words and kinds.
func (b *Bucket) explain(ctx context.Context, doing, key string, err error) error {
	err = fmt.Errorf("%s %s in the bucket %s: %w", doing, key, b.name, err)
	switch {
	case codeOf(err) == noBucket:
		return fmt.Errorf("%w: %w", ErrNoBucket, err)
	case statusOf(err) == 404:
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case errors.Is(ctx.Err(), context.Canceled):
		return err
	case ctx.Err() != nil || passing.IsErrorRetryable(err) == aws.TrueTernary:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}
