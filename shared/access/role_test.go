package access_test

import (
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
)

func TestPermissionsByRole(t *testing.T) {
	tests := []struct {
		roles string
		want  string
	}{
		{"", ""},
		{"member", ""},
		{"admin", ""},
		{"support", "config.edit.support"},
		{"engineer", "config.edit.standard config.edit.support"},
		{"protected_engineer", "config.edit.protected config.edit.standard config.edit.support"},
		{"support_nonprotected", "config.edit.support.nonprotected"},
		{"engineer_nonprotected", "config.edit.standard.nonprotected config.edit.support.nonprotected"},
		{"member admin support", "config.edit.support"},
		{"support engineer", "config.edit.standard config.edit.support"},
		{"support engineer_nonprotected", "config.edit.standard.nonprotected config.edit.support config.edit.support.nonprotected"},
		{"owner Engineer config.edit.protected", ""},
	}
	for _, test := range tests {
		t.Run(test.roles, func(t *testing.T) {
			var got []string
			for _, permission := range access.Permissions(strings.Fields(test.roles)) {
				got = append(got, string(permission))
			}
			if want := strings.Fields(test.want); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
