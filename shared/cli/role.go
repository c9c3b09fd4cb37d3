package cli

import (
	"fmt"
	"strings"

	"svc.example/svc/shared/access"
)

// rolesInWords is the end of the help of a command that takes roles.
func rolesInWords() string {
	var b strings.Builder
	b.WriteString("Roles:")
	for _, role := range access.Roles() {
		fmt.Fprintf(&b, "\n  %-22s %s", role, access.Meaning(role))
	}
	return b.String()
}
