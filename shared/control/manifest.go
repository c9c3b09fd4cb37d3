package control

import (
	"context"
	"errors"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/manifest"
	"svc.example/svc/shared/repository"
)

// Manifest is the flags as the OpenFeature CLI has them, by key.
type Manifest struct {
	Flags []manifest.Flag `json:"flags"`
	// Omitted is how many flags are of a type that the CLI's API does not know.
	Omitted int `json:"-"`
}

// Manifest tells what the flags' default rules serve now.
func (s *Session) Manifest(ctx context.Context) (*Manifest, error) {
	commit, err := s.commitAt(ctx, nil)
	if err != nil {
		return nil, err
	}
	served, _, err := s.evaluable(ctx, commit, manifest.DefaultRules, false)
	if err != nil {
		return nil, err
	}
	var outlines []manifest.Outline
	omitted := 0
	for _, row := range s.opened.View.Flags() {
		if t := manifest.TypeOf(row.ValueType); t == "" || t == manifest.Float {
			omitted++
			continue
		}
		outlines = append(outlines, manifest.Outline{Key: row.Key, Name: row.Name, Description: row.Description, ValueType: row.ValueType})
	}
	flags, _, err := manifest.Make(ctx, served, outlines, s.service.settings.Now())
	if errors.Is(err, explanation.ErrTooMuch) {
		return nil, fault.New(fault.Unprocessable, "the default values of all flags take more than %d MiB together; read them with GET /flags", explanation.MaxAnswer>>20)
	}
	if err != nil {
		return nil, repository.Fault(err)
	}
	return &Manifest{flags, omitted}, nil
}

// ManifestCapabilities is what the key may do to manifests, as their API words it. Which
// flags it may do it to is asked of each write.
func (s *Session) ManifestCapabilities() string {
	if len(access.Permissions(s.caller.entry.Principal.EffectiveRoles())) > 0 {
		return "read,write,delete"
	}
	return "read"
}
