package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"svc.example/svc/shared/awsclient"
)

// Get returns a whole object; fs.ErrNotExist if there is none.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, Info, error) {
	return b.GetAtMost(ctx, key, math.MaxInt64)
}

// ErrTooLarge: the object has more bytes than are wanted. None was read.
var ErrTooLarge = errors.New("the object is too large")

// GetAtMost is Get of an object of at most so many bytes. With ErrTooLarge it
// returns what is known of the object too.
func (b *Bucket) GetAtMost(ctx context.Context, key string, most int64) ([]byte, Info, error) {
	return b.read(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key}, most)
}

// GetRange returns the bytes of an object from an offset on: as many as there
// are, at most length. Info.Size is that of the whole object.
func (b *Bucket) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, Info, error) {
	if offset < 0 || length <= 0 {
		return nil, Info{}, fmt.Errorf("%s has no %d bytes at %d", key, length, offset)
	}
	in := &s3.GetObjectInput{Bucket: &b.name, Key: &key}
	in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	return b.read(ctx, in, math.MaxInt64)
}

// read makes a request and reads its answer. The SDK tries the request again;
// an answer that breaks off is tried again here.
func (b *Bucket) read(ctx context.Context, in *s3.GetObjectInput, most int64) ([]byte, Info, error) {
	key := *in.Key
	for attempt := 1; ; attempt++ {
		content, info, err := b.readOnce(ctx, in, most)
		switch {
		case err == nil, errors.Is(err, ErrTooLarge):
			return content, info, err
		case statusOf(err) == 416: // at or behind the end; an empty object has nothing else
			info, err := b.Stat(ctx, key)
			return nil, info, err
		case statusOf(err) != 0, attempt == awsclient.Attempts, !awsclient.Wait(ctx, attempt):
			return nil, Info{}, b.explain(ctx, "reading", key, err)
		}
	}
}

func (b *Bucket) readOnce(ctx context.Context, in *s3.GetObjectInput, most int64) ([]byte, Info, error) {
	out, err := b.client.GetObject(ctx, in)
	if err != nil {
		return nil, Info{}, err
	}
	defer out.Body.Close()
	info := Info{Key: *in.Key, Size: aws.ToInt64(out.ContentLength), Modified: aws.ToTime(out.LastModified), ETag: aws.ToString(out.ETag)}
	if info.Size > most {
		return nil, info, fmt.Errorf("%s: %w", info.Key, ErrTooLarge)
	}
	content := bytes.NewBuffer(make([]byte, 0, info.Size+bytes.MinRead))
	if n, err := content.ReadFrom(out.Body); err != nil {
		return nil, Info{}, err
	} else if n != info.Size {
		return nil, Info{}, io.ErrUnexpectedEOF
	}
	if _, whole, ok := strings.Cut(aws.ToString(out.ContentRange), "/"); ok {
		if info.Size, err = strconv.ParseInt(whole, 10, 64); err != nil {
			return nil, Info{}, fmt.Errorf("the answer's Content-Range %q names no size", *out.ContentRange)
		}
	}
	return content.Bytes(), info, nil
}
