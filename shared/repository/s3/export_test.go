package s3

import (
	"time"

	"svc.example/svc/shared/bucket"
)

// SetClock lets objects grow old at once.
func (o *Objects) SetClock(now func() time.Time) { o.now = now }

// Bucket is where the objects lie.
func (o *Objects) Bucket() *bucket.Bucket { return o.bucket }
