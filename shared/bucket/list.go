package bucket

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// List tells all objects whose keys have a prefix, in the order of their keys,
// as many requests as that takes: one for each thousand. An error ends it.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return b.list(ctx, prefix, "")
}

// Folder is List, except that what lies below a further slash is told once, as
// a folder. The order is that of the store.
func (b *Bucket) Folder(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return b.list(ctx, prefix, "/")
}

func (b *Bucket) list(ctx context.Context, prefix, delimiter string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix, MaxKeys: aws.Int32(1000)}
		if delimiter != "" {
			in.Delimiter = &delimiter
		}
		pages := s3.NewListObjectsV2Paginator(b.client, in)
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			if err != nil {
				yield(Info{}, b.explain(ctx, "listing", prefix, err))
				return
			}
			told, _ := middleware.GetServerTime(out.ResultMetadata)
			for _, folder := range out.CommonPrefixes {
				if !yield(Info{Key: aws.ToString(folder.Prefix), Folder: true}, nil) {
					return
				}
			}
			for _, o := range out.Contents {
				if !yield(Info{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified), ETag: aws.ToString(o.ETag), Told: told}, nil) {
					return
				}
			}
		}
	}
}

// Now is the store's clock, asked by a listing of what has a prefix.
func (b *Bucket) Now(ctx context.Context, prefix string) (time.Time, error) {
	out, err := b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix, MaxKeys: aws.Int32(1)})
	if err != nil {
		return time.Time{}, b.explain(ctx, "listing", prefix, err)
	}
	now, known := middleware.GetServerTime(out.ResultMetadata)
	if !known {
		return now, fmt.Errorf("the bucket %s answers without a Date, by which ages are counted", b.name)
	}
	return now, nil
}
