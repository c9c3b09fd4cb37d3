package local

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
)

// Parts are what a data directory holds beside git's objects and telemetry, as it is
// stored: what a version does not know stays. A workspace that lies elsewhere is backed up
// as such a directory, and restored from one.
type Parts struct {
	// The registry's file, but for what the entries are.
	Format     int               `json:"format"`
	Version    int64             `json:"version"`
	Workspace  access.Workspace  `json:"workspace"`
	Principals []json.RawMessage `json:"principals"`
	Keys       []json.RawMessage `json:"keys"`

	Uses       map[access.ID]string  `json:"-"`
	Answers    []repository.Answered `json:"-"`
	References []Reference           `json:"-"`
}

// Branch is the reference that is the head.
const Branch = branch

// WriteDataDir makes the files of a data directory that has a repository and nothing else.
// Each line of the audit trail is what audit calls it with, oldest first.
func WriteDataDir(dir string, head string, p Parts, audit func(line func([]byte) error) error) error {
	p.Format = Format
	registry, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if len(registry) > maxRegistry {
		return fmt.Errorf("keys and principals take %d bytes, and at most %d are allowed", len(registry), maxRegistry)
	}
	if _, err := decodeRegistry(registry); err != nil {
		return fmt.Errorf("keys and principals: %w", err)
	}
	if head != "" {
		p.References = []Reference{{branch, head}}
	}
	used, err := json.MarshalIndent(p.Uses, "", "  ")
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{registryName: append(registry, '\n'), packedRefs: encodeReferences(p.References), usedName: append(used, '\n')} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text, registryMode); err != nil {
			return err
		}
	}
	if len(p.Answers) > 0 {
		if err := answersIn(DatabaseIn(dir)).Put(context.Background(), p.Answers...); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, auditName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, registryMode)
	if err != nil {
		return err
	}
	lines := bufio.NewWriter(f)
	err = audit(func(line []byte) error {
		_, err := lines.Write(append(bytes.TrimSpace(line), '\n'))
		return err
	})
	return errors.Join(err, lines.Flush(), f.Close())
}

// ReadDataDir reads a data directory that nobody writes to.
func ReadDataDir(ctx context.Context, dir string) (p Parts, err error) {
	registry, err := OpenRegistry(dir)
	if err != nil {
		return p, err
	}
	defer registry.Close()
	current, err := registry.current()
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(current.text, &p); err != nil {
		return p, err
	}
	if p.Uses, err = registry.Uses(ctx); err != nil {
		return p, err
	}
	if p.Answers, err = answersIn(DatabaseIn(dir)).All(ctx, time.Now()); err != nil {
		return p, err
	}
	p.References, _, err = References(filepath.Join(dir, RepositoryName))
	return p, err
}
