package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"svc.example/svc/shared/backup"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/webhook"
)

// Backup writes everything of a workspace into an archive, while others write to it.
// Head, record, keys, principals and audit trail are of one moment, which is after the
// call began; telemetry is read after that.
//
// The folder beside holds the workspace meanwhile, as a data directory of svc api would,
// and is what the archive is written of: so there is one form of archives, and what has
// to be true of them is seen to in package backup.
func (w *Workspace) Backup(ctx context.Context, to io.Writer, beside string, progress Progress) (h backup.Header, err error) {
	dir, err := os.MkdirTemp(beside, ".svc-backup-") // for this user alone
	if err != nil {
		return h, err
	}
	defer os.RemoveAll(dir)
	if err := w.assemble(ctx, dir, progress); err != nil {
		return h, err
	}
	return backup.Write(ctx, dir, to, beside)
}

// assemble copies the workspace into an empty directory.
func (w *Workspace) assemble(ctx context.Context, dir string, progress Progress) error {
	table := w.stores.table
	// First: of one that is applied meanwhile git has the commit, and the answers tell.
	err := archiveRows(filepath.Join(dir, backup.RequestsName), func(to io.Writer) error { return w.stores.requests.Archive(ctx, w.ID, to) })
	if err != nil {
		return err
	}
	c, err := table.Capture(ctx, w.id())
	if err != nil {
		return err
	}
	uses, err := w.Registry().LastUses(ctx)
	if err != nil {
		return err
	}
	answers, err := table.Answers(ctx, w.id(), time.Now())
	if err != nil {
		return err
	}
	git := filepath.Join(dir, local.RepositoryName)
	if _, err := disk.Init(git); err != nil {
		return err
	}
	p := local.Parts{Workspace: c.Workspace, Version: c.Head.Access, Principals: c.Principals, Keys: c.Keys, Uses: uses, Answers: answers}
	err = local.WriteDataDir(dir, c.Head.Commit, p, func(line func([]byte) error) error {
		return table.EachAudit(ctx, w.id(), c.Head.Access, line)
	})
	if err == nil {
		err = archiveRows(filepath.Join(dir, backup.TelemetryName), func(to io.Writer) error { return w.stores.usage.Archive(ctx, w.ID, time.Now(), to) })
	}
	if err == nil {
		err = w.archiveWebhooks(ctx, filepath.Join(dir, backup.WebhooksName))
	}
	if err != nil || c.Head.Commit == "" {
		return err
	}
	return w.copyHistory(ctx, git, c.Head.Commit, progress)
}

// archiveRows writes a new file.
func archiveRows(path string, archive func(to io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(archive(f), f.Close())
}

func (w *Workspace) archiveWebhooks(ctx context.Context, path string) error {
	var text bytes.Buffer
	if _, err := (webhook.Store{Table: w.stores.rows, Workspace: w.ID}).Archive(ctx, &text); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o600)
}

// copyHistory copies the packs that a head needs, which was read before they are listed.
// What those that the table names do not have may lie in others.
func (w *Workspace) copyHistory(ctx context.Context, git, commit string, progress Progress) error {
	packs, err := w.ledger.Packs(ctx)
	if err != nil {
		return err
	}
	m, err := w.copyPacks(ctx, git, packs, nil, progress.begin("copying", "packs"))
	if err != nil {
		return err
	}
	if lacks := backup.VerifyGit(ctx, git, commit); lacks == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	stored, err := w.objects.List(ctx)
	if err != nil {
		return err
	}
	others := without(stored, m.packs.names())
	if _, err := w.copyPacks(ctx, git, others, nil, progress.begin("copying", "more packs")); err != nil {
		return err
	}
	if err := backup.VerifyGit(ctx, git, commit); err != nil {
		return fmt.Errorf("%w; svcadmin fsck tells more", errors.Join(err, m.complaint()))
	}
	return nil
}
