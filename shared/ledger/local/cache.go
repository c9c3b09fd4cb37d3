package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"svc.example/svc/shared/atomicfile"
)

// cache is the history on disk, so that a start need not walk. It is a file of
// rows in their order:
//
//	"svc history 2\n"  sequence of the first row (8)  check (4)
//	length (4)  check (4)  row        and so on
//
// A check is the CRC-32C of everything before it, so that a row counts only
// behind the very rows it was written behind. What is behind the first row
// that does not fit, or behind the last head, is dropped.
//
// The file is not flushed and may be deleted: the next start walks for what is
// missing.
type cache struct {
	files filesystem
	path  string

	file *os.File // nil when there is none that can be appended to
	sum  uint32
}

const (
	cacheName   = "history.cache"
	cacheMagic  = "svc history 2\n"
	cacheHeader = len(cacheMagic) + 8 + 4
	rowHeader   = 4 + 4
	maxCache    = 4 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// load reads the history that the cache holds; nil when it holds none. It is
// left ready to be appended to.
func (c *cache) load() *history {
	content, err := c.files.read(c.path, maxCache)
	if err != nil {
		return nil
	}
	decoded, err := decodeCache(content)
	if err != nil {
		return nil
	}
	c.sum = decoded.sum
	if err := c.reopen(decoded.size); err != nil {
		c.close()
	}
	h := newHistory(decoded.base)
	h.append(decoded.rows...)
	return h
}

// reopen drops what is behind the rows that count.
func (c *cache) reopen(size int64) error {
	if err := c.files.before(OpWrite, c.path); err != nil {
		return err
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	c.file = f
	return f.Truncate(size)
}

// decodedCache is what counts in a cache file.
type decodedCache struct {
	base int64
	rows []row
	size int64  // of the file up to the last head
	sum  uint32 // up to there
}

var errCache = errors.New("this is not a cache of a history")

func decodeCache(content []byte) (decodedCache, error) {
	d := decodedCache{size: int64(cacheHeader)}
	header, rest := content[:min(cacheHeader, len(content))], content[min(cacheHeader, len(content)):]
	if len(header) < cacheHeader || !bytes.HasPrefix(header, []byte(cacheMagic)) {
		return d, errCache
	}
	body, check := header[:cacheHeader-4], binary.BigEndian.Uint32(header[cacheHeader-4:])
	if d.sum = crc32.Checksum(body, castagnoli); d.sum != check {
		return d, errCache
	}
	d.base = int64(binary.BigEndian.Uint64(body[len(cacheMagic):]))
	if d.base < 1 || d.base > 1<<62 {
		return d, errCache
	}
	d.takeRows(rest)
	return d, nil
}

func (d *decodedCache) takeRows(rest []byte) {
	sum, size, heads := d.sum, d.size, 0
	for len(rest) >= rowHeader {
		length, check := binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])
		rest = rest[rowHeader:]
		if int64(length) > int64(len(rest)) {
			break
		}
		r := row(rest[:length:length])
		rest = rest[length:]
		if sum = crc32.Update(sum, castagnoli, r); sum != check || len(r) < idAt+idBytes {
			break
		}
		size += rowHeader + int64(length)
		d.rows = append(d.rows, r)
		if r.isHead() {
			heads, d.size, d.sum = len(d.rows), size, sum
		}
	}
	d.rows = d.rows[:heads:heads]
}

func encodeCacheHeader(base int64) ([]byte, uint32) {
	header := binary.BigEndian.AppendUint64([]byte(cacheMagic), uint64(base))
	sum := crc32.Checksum(header, castagnoli)
	return binary.BigEndian.AppendUint32(header, sum), sum
}

func encodeRows(sum uint32, rows []row) ([]byte, uint32) {
	var b []byte
	for _, r := range rows {
		sum = crc32.Update(sum, castagnoli, r)
		b = binary.BigEndian.AppendUint32(b, uint32(len(r)))
		b = binary.BigEndian.AppendUint32(b, sum)
		b = append(b, r...)
	}
	return b, sum
}

// append adds rows. One that fails ends the cache's use: the file stays as a
// beginning that the next start goes on from.
func (c *cache) append(rows []row) error {
	if c.file == nil {
		return nil
	}
	content, sum := encodeRows(c.sum, rows)
	if err := c.files.write(c.file, content); err != nil {
		c.close()
		return fmt.Errorf("the cache of the history is not kept up to date: %w", err)
	}
	c.sum = sum
	return nil
}

// reset starts the cache of another history.
func (c *cache) reset(base int64, rows []row) error {
	c.close()
	header, sum := encodeCacheHeader(base)
	content, sum := encodeRows(sum, rows)
	next := c.path + ".next"
	err := c.files.before(OpWrite, c.path)
	if err == nil {
		err = errors.Join(os.WriteFile(next, append(header, content...), 0o600), atomicfile.GiveToFolder(next))
	}
	if err == nil {
		err = c.files.rename(next, c.path)
	}
	if err == nil {
		c.file, err = os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		return fmt.Errorf("the cache of the history could not be written: %w", err)
	}
	c.sum = sum
	return nil
}

func (c *cache) close() {
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}
