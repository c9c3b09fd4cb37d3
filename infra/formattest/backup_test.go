package formattest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/backup"
)

// TestBackups of a hosted workspace and of a data directory.
func TestBackups(t *testing.T) {
	t.Run("hosted", func(t *testing.T) {
		testFormats(t, "backup-hosted", backup.Format, func(t *testing.T) store { return hostedBackup{newHosted(t)} })
	})
	t.Run("directory", func(t *testing.T) {
		testFormats(t, "backup-directory", backup.Format, func(t *testing.T) store {
			return directoryBackup{directory(filepath.Join(t.TempDir(), "data"))}
		})
	})
}

const backupName = "backup.tar"

// hostedBackup is what svcadmin backup makes of a workspace.
type hostedBackup struct{ hosted }

func (h hostedBackup) dump(t *testing.T) map[string][]byte {
	var b bytes.Buffer
	_, err := h.workspace(t).Backup(t.Context(), &b, t.TempDir(), nil)
	must(t, err)
	return map[string][]byte{backupName: b.Bytes()}
}

func (h hostedBackup) restore(t *testing.T, files map[string][]byte) {
	_, err := h.stores.Restore(t.Context(), bytes.NewReader(files[backupName]), admin.Restoration{Dir: t.TempDir()})
	must(t, err)
}

// directoryBackup is what svc backup makes of a data directory.
type directoryBackup struct{ directory }

func (d directoryBackup) dump(t *testing.T) map[string][]byte {
	var b bytes.Buffer
	_, err := backup.Write(t.Context(), string(d.directory), &b, t.TempDir())
	must(t, err)
	return map[string][]byte{backupName: b.Bytes()}
}

func (d directoryBackup) restore(t *testing.T, files map[string][]byte) {
	must(t, os.MkdirAll(filepath.Dir(string(d.directory)), 0o700))
	_, err := backup.Restore(t.Context(), bytes.NewReader(files[backupName]), string(d.directory))
	must(t, err)
}
