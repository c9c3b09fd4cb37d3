package change

import (
	"fmt"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// permitUses answers 403 for what the new document has applications use that
// the principal may not. With a ciphertext and the name of a key in a document of their
// own, they would read what only the application can.
func (a *attempt) permitUses() error {
	var before *document.Document
	if tree := a.before(); tree != nil {
		before = document.View(tree)
	}
	var keys []string // in the order in which they stand
	scopes := map[string][]access.Scope{}
	for _, use := range document.NewUses(before, document.View(a.edited.Tree)) {
		if use.Key == "" {
			a.lookups = append(a.lookups, document.Issue{Pointer: use.Pointer,
				Message: "this value is read from the environment of every application that evaluates it; make sure that the variable may be read"})
		}
		if _, known := scopes[use.Key]; !known {
			keys = append(keys, use.Key)
		}
		scopes[use.Key] = append(scopes[use.Key], a.batch.head.View.Scopes().Scope(use.Scope))
	}
	for _, key := range keys {
		write, what, guarded := a.usingKey(key, scopes[key])
		if key == "" {
			write, what, guarded = access.Edit(access.TierProtectedAllEnvs, scopes[key]...), lookupsGuarded, a.batch.head.View.GuardedReferences()
		}
		if !guarded {
			continue
		}
		if err := refusal.Forbidden(a.batch.state.Principal, what, write); err != nil {
			return err
		}
	}
	return nil
}

const lookupsGuarded = "a value that is read from the environment of applications is guarded in this workspace (secretReferences in " + workspace.File + "): "

// usingKey is what it takes to decrypt with the key that a config holds: to be
// allowed to edit that config in the scopes where it is used. One that is not
// there decrypts nothing, and is refused for that in its turn.
func (a *attempt) usingKey(key string, scopes []access.Scope) (write access.Write, what string, guarded bool) {
	path := workspace.Path(document.Config, key)
	tier, found := a.batch.tierAt(path)
	if !found || path == a.path {
		return write, "", false
	}
	return access.Edit(tier, scopes...), fmt.Sprintf("to decrypt with the config %s is to use it: ", terminal.Quote(key)), true
}
