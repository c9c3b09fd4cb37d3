package prereceive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"svc.example/svc/shared/atomicfile"
)

const (
	hookName = "pre-receive"
	// mark is in each hook that svc has written.
	mark = "# Written by svc api."
	// settingsName is a file of settings that the repository's config includes.
	settingsName = "svc.config"
)

// Command is the name of the command that the hook runs.
const Command = "pre-receive"

// hook is what git runs. The program may be gone, after an update say: then the
// push is refused, since nobody would look at it.
const hook = `#!/bin/sh
` + mark + ` It is renewed at each start, and refuses a push that would break
# the workspace.
svc=%s
if test ! -x "$svc"; then
	echo "svc: this push cannot be checked: there is no program at $svc any more." >&2
	echo "svc: start svc api again, which puts itself in its place, or remove the file" >&2
	echo "svc: %s to push unchecked until then." >&2
	exit 1
fi
exec "$svc" ` + Command + `
`

// settings of a repository with the hook. What stands behind the include in the
// repository's config takes precedence. A push may have as many bytes, packed, as
// the documents that are read (repository.MaxTexts): git refuses a larger one
// while it comes in, and keeps nothing of it.
const settings = `# Written by svc api, which renews it at each start.
[core]
	hooksPath = %s
	bigFileThreshold = 4m
[receive]
	fsckObjects = true
	maxInputSize = 128m
`

const include = "[include]\n\tpath = " + settingsName + "\n"

// errForeign: somebody else's pre-receive is there.
var errForeign = errors.New("the repository has a hook pre-receive of its own: pushes are checked only if it runs svc " + Command)

// Install has a repository's pushes checked by a program, or renews that. The
// path of the hooks is set, since a person's own settings may name another for
// all repositories.
func Install(repository, program string) error {
	repository, err := filepath.Abs(repository)
	if err != nil {
		return err
	}
	hooks := filepath.Join(repository, "hooks")
	if err := os.MkdirAll(hooks, 0o777); err != nil {
		return err
	}
	path := filepath.Join(hooks, hookName)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !bytes.Contains(old, []byte(mark)) {
		return errForeign
	}
	text := fmt.Sprintf(hook, shellQuote(filepath.ToSlash(program)), filepath.ToSlash(path))
	return errors.Join(
		replace(path, text, 0o777),
		replace(filepath.Join(repository, settingsName), fmt.Sprintf(settings, configQuote(filepath.ToSlash(hooks))), 0o666),
		addInclude(filepath.Join(repository, "config")),
	)
}

// addInclude puts the include in front, so that all other settings win.
func addInclude(config string) error {
	old, err := os.ReadFile(config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if strings.Contains(string(old), include) {
		return nil
	}
	return replace(config, include+string(old), 0o666)
}

// replace writes a file again, as a whole or not at all, unless it is as it is
// to be.
func replace(path, text string, mode os.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode() // as somebody has set it
	} else {
		mode &= 0o755
	}
	return atomicfile.ReplaceAt(path, []byte(text), mode)
}

func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func configQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
