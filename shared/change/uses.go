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
		tier, what, guarded := access.TierProtectedAllEnvs, lookupsGuarded, a.batch.head.View.GuardedReferences()
		if key != "" {
			// To be allowed to edit the config that holds it in the scopes where it is used. One
			// that is not there decrypts nothing, and is refused for that in its turn.
			path := workspace.Path(document.Config, key)
			tier, guarded = a.batch.tierAt(path)
			guarded, what = guarded && path != a.path, fmt.Sprintf("to decrypt with the config %s is to use it: ", terminal.Quote(key))
		}
		if !guarded {
			continue
		}
		if err := refusal.Forbidden(a.batch.state.Principal, what, access.Edit(tier, scopes[key]...)); err != nil {
			return err
		}
	}
	return nil
}

const lookupsGuarded = "a value that is read from the environment of applications is guarded in this workspace (secretReferences in " + workspace.File + "): "
