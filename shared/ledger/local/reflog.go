package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"svc.example/svc/shared/repository"
)

// reflogEntry is what the reference log says of a move.
type reflogEntry struct {
	who  repository.Signature
	what string
}

func entryOf(c repository.Commit) reflogEntry {
	subject, _, _ := strings.Cut(c.Message, "\n")
	return reflogEntry{who: c.Committer, what: "commit: " + subject}
}

// appendReflog adds a line to the logs of the branch and of HEAD, where they
// exist, as git does: they are made when somebody commits in a linked work
// tree, or by the setting core.logAllRefUpdates.
func (r reference) appendReflog(from, to string, entry reflogEntry) error {
	if from == "" {
		from = noCommit
	}
	clean := strings.NewReplacer("\n", " ", "<", "", ">", "")
	who := repository.Signature{Name: clean.Replace(entry.who.Name), Email: clean.Replace(entry.who.Email), When: entry.who.When}
	line := fmt.Sprintf("%s %s %s\t%s\n", from, to, who.Encode(), strings.ReplaceAll(entry.what, "\n", " "))
	err := r.appendTo("logs/"+branch, line)
	if err == nil && r.headIsBranch() {
		err = r.appendTo("logs/HEAD", line)
	}
	if err != nil {
		return fmt.Errorf("logging the move of the head: %w", err)
	}
	return nil
}

// headIsBranch reports whether HEAD moves with the branch and has a log.
func (r reference) headIsBranch() bool {
	if _, err := r.files.stat(r.path("logs/HEAD")); err != nil {
		return false
	}
	head, err := r.files.read(r.path("HEAD"), maxRef)
	return err == nil && strings.TrimSpace(string(head)) == "ref: "+branch
}

func (r reference) appendTo(name, line string) error {
	f, err := os.OpenFile(r.path(name), os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		if err = r.files.write(f, []byte(line)); err != nil {
			err = errors.Join(err, f.Truncate(info.Size())) // half a line would spoil the log
		}
	}
	return errors.Join(err, f.Close())
}
