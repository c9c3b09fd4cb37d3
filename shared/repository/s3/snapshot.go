package s3

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
)

// maxSnapshot bounds what a snapshot may hold uncompressed.
const maxSnapshot = 512 << 20

// Snapshots are compressed here and not where they are made: a store on disk
// needs none, and should not have to link this.
var zip = sync.OnceValue(func() *zstd.Encoder {
	// A window of 8 MB, as it is by itself, would keep 25 MB for good.
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // options that there are
	return e
})

var unzip = sync.OnceValue(func() *zstd.Decoder {
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxSnapshot))
	return d
})

func snapshotPath(name string) (string, error) {
	if raw, err := hex.DecodeString(name); err != nil || len(raw) != sha256.Size {
		return "", fmt.Errorf("%q is no name of a snapshot: 64 hexadecimal digits", name)
	}
	return snapshotFolder + "/" + name, nil
}

const snapshotFolder = "snapshots"

// PutSnapshot implements repository.Checkpoints.
func (o *Objects) PutSnapshot(ctx context.Context, name string, content []byte) error {
	path, err := snapshotPath(name)
	if err != nil {
		return err
	}
	return o.store.create(ctx, path, bucket.Bytes(zip().EncodeAll(content, nil)))
}

// Snapshot implements repository.Checkpoints. That it is what its name says is
// checked where it is decoded.
func (o *Objects) Snapshot(ctx context.Context, name string) ([]byte, error) {
	path, err := snapshotPath(name)
	if err != nil {
		return nil, err
	}
	// Briefs come on top: room for the rest is room for them.
	most := cmp.Or(o.most, maxSnapshot)
	packed, info, err := o.store.bucket.GetAtMost(ctx, o.store.key(path), repository.MaxContent(most))
	if errors.Is(err, bucket.ErrTooLarge) {
		return nil, &repository.TooLarge{Bytes: info.Size, Max: most}
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, busy(err))
	}
	var header zstd.Header
	if err := header.Decode(packed); err == nil && header.HasFCS {
		if header.FrameContentSize > uint64(repository.MaxContent(most)) {
			return nil, &repository.TooLarge{Bytes: int64(min(header.FrameContentSize, math.MaxInt64)), Max: most}
		}
		if o.makeRoom != nil {
			o.makeRoom(int64(header.FrameContentSize))
		}
	}
	content, err := unzip().DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	if others := int64(len(content)) - repository.BriefsIn(content); others > most {
		return nil, &repository.TooLarge{Bytes: others, Max: most}
	}
	return content, nil
}
