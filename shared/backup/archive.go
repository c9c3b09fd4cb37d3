package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/telemetry/earlier"
)

// Format is the newest format of archives that this version writes and reads. One with neither
// webhooks nor change requests is of format 1.
const Format = 2

// Header is what an archive begins with.
type Header struct {
	Format    int       `json:"format"`
	Release   string    `json:"release"` // that wrote it
	At        time.Time `json:"at"`
	Workspace string    `json:"workspace"` // its id
	Name      string    `json:"name"`
	Commit    string    `json:"commit"` // the head; "" before the first commit
	Access    int64     `json:"access"` // the registry's version
}

// manifest is what an archive ends with.
type manifest struct {
	Files []sum `json:"files"`
}

type sum struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// TelemetryName is the file that has a workspace's telemetry.
const TelemetryName = "telemetry.jsonl"

// WebhooksName is the file that has a workspace's webhooks.
const WebhooksName = "webhooks.jsonl"

// RequestsName is the file that has a workspace's change requests, if there are any.
const RequestsName = "requests.jsonl"

const (
	headerName   = "backup.json"
	manifestName = "manifest.json"

	maxHeader   = 64 << 10
	maxWebhooks = 1 << 20
	maxManifest = 64 << 20
	// maxFiles is far more than the packs of a workspace that is looked after, and
	// within maxManifest.
	maxFiles = 200_000
)

// packName is what packs and their indexes are called.
var packName = regexp.MustCompile(`^repository\.git/objects/pack/pack-[0-9a-f]{40}\.(pack|idx)$`)

// otherPackName is what git's task loose-objects calls its packs. The sum in the name is the same.
var otherPackName = regexp.MustCompile(`^(repository\.git/objects/pack/)loose(-[0-9a-f]{40}\.(?:pack|idx))$`)

// writer writes an archive.
type writer struct {
	to        *tar.Writer
	at        time.Time
	workspace string
	manifest  manifest
}

func newWriter(to io.Writer, h Header) (*writer, error) {
	w := &writer{to: tar.NewWriter(to), at: h.At, workspace: h.Workspace}
	text, err := json.MarshalIndent(h, "", "  ")
	if err == nil {
		err = w.add(headerName, int64(len(text)), bytes.NewReader(text))
	}
	return w, err
}

// add adds a file of a size that is known, which is an error if it has another.
func (w *writer) add(name string, size int64, content io.Reader) error {
	hash := sha256.New()
	name = otherPackName.ReplaceAllString(name, "${1}pack$2")
	err := w.to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.at})
	if err == nil {
		_, err = io.CopyN(io.MultiWriter(w.to, hash), content, size)
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s has become shorter while it was read: %w", name, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w.manifest.Files = append(w.manifest.Files, sum{name, size, hex.EncodeToString(hash.Sum(nil))})
	return nil
}

// close completes the archive.
func (w *writer) close() error {
	text, err := json.Marshal(w.manifest)
	if err == nil {
		err = w.add(manifestName, int64(len(text)), bytes.NewReader(text))
	}
	if err == nil {
		err = w.to.Close()
	}
	return err
}

// errIncomplete: the archive ends early.
var errIncomplete = errors.New("the archive ends in the middle: it is not a whole backup")

// read reads an archive from front to end. It hands each file to take, which has to
// read all of it, and which must make nothing of it that lasts before read has ended
// without an error: only then is it known that everything is as it was written.
func read(from io.Reader, begin func(Header) error, take func(name string, content io.Reader) error) (Header, error) {
	r := &reader{from: tar.NewReader(from), sums: map[string]sum{}}
	text, err := r.text(headerName, maxHeader)
	if err != nil {
		return r.header, err
	}
	if err := json.Unmarshal(text, &r.header); err != nil || r.header.Format < 1 {
		return r.header, errForeign
	}
	if r.header.Format > Format {
		return r.header, fmt.Errorf("the archive is of format %d, and this svc knows formats up to %d; it takes the version of svc that wrote it (%s), or a later one: %w",
			r.header.Format, Format, r.header.Release, repository.ErrNewer)
	}
	if err := begin(r.header); err != nil {
		return r.header, err
	}
	for {
		e, err := r.next()
		if err != nil {
			return r.header, err
		}
		if e.Name == manifestName {
			return r.header, r.compare(e)
		}
		if err := r.admit(e); err != nil {
			return r.header, err
		}
		if err := r.hash(e, take); err != nil {
			return r.header, err
		}
	}
}

type reader struct {
	from   *tar.Reader
	header Header
	sums   map[string]sum
}

var errForeign = errors.New("this is no backup that svc has made")

// next is the next file.
func (r *reader) next() (*tar.Header, error) {
	h, err := r.from.Next()
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch first := len(r.sums) == 0; {
	case first && (ended || errors.Is(err, tar.ErrHeader)):
		return nil, errForeign
	case ended:
		return nil, errIncomplete
	case err != nil:
		return nil, fmt.Errorf("the archive is damaged: %w", err)
	}
	delete(h.PAXRecords, "size") // of a file that has more than eleven octal digits of bytes
	if h.Typeflag != tar.TypeReg || len(h.PAXRecords) > 0 {
		return nil, fmt.Errorf("%.200q in the archive is no plain file, which no backup has", h.Name)
	}
	return h, nil
}

// admit refuses what no backup has.
func (r *reader) admit(e *tar.Header) error {
	most, known := local.CapturedFiles()[e.Name]
	if e.Name == WebhooksName {
		most, known = maxWebhooks, true
	} else if !known { // packs and telemetry have as many bytes as the archive
		most, known = 1<<63-1, e.Name == earlier.Name || e.Name == TelemetryName || e.Name == RequestsName || packName.MatchString(e.Name)
	}
	_, twice := r.sums[e.Name]
	switch {
	case !known:
		return fmt.Errorf("%.200q in the archive belongs in no backup", e.Name)
	case twice:
		return fmt.Errorf("%q is in the archive twice", e.Name)
	case e.Size > most:
		return fmt.Errorf("%q in the archive has %d bytes, and at most %d are allowed", e.Name, e.Size, most)
	case len(r.sums) >= maxFiles:
		return fmt.Errorf("there are more than %d files in the archive", maxFiles)
	}
	return nil
}

// text is a file that is read as a whole.
func (r *reader) text(name string, most int64) ([]byte, error) {
	e, err := r.next()
	if err != nil {
		return nil, err
	}
	if e.Name != name || e.Size > most {
		return nil, errForeign
	}
	var text []byte
	err = r.hash(e, func(_ string, content io.Reader) error {
		text, err = io.ReadAll(content)
		return err
	})
	return text, err
}

// hash hands a file to take, and notes its checksum. All of it is read.
func (r *reader) hash(e *tar.Header, take func(name string, content io.Reader) error) error {
	hash := sha256.New()
	err := take(e.Name, io.TeeReader(r.from, hash))
	if err == nil {
		_, err = io.Copy(hash, r.from)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errIncomplete
	}
	r.sums[e.Name] = sum{e.Name, e.Size, hex.EncodeToString(hash.Sum(nil))}
	return err
}

// compare holds what was read against the manifest.
func (r *reader) compare(e *tar.Header) error {
	if e.Size > maxManifest {
		return fmt.Errorf("the archive's manifest has %d bytes, and at most %d are allowed", e.Size, maxManifest)
	}
	text, err := io.ReadAll(r.from)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errIncomplete
	}
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("the archive's manifest is damaged: %w", err)
	}
	for _, want := range m.Files {
		got, there := r.sums[want.Name]
		switch {
		case !there:
			return fmt.Errorf("%.200q is missing in the archive, or named twice", want.Name)
		case got != want:
			return fmt.Errorf("%q in the archive is damaged: its content does not fit its checksum", want.Name)
		}
		delete(r.sums, want.Name)
	}
	for name := range r.sums {
		return fmt.Errorf("%q in the archive is not in its manifest", name)
	}
	return nil
}
