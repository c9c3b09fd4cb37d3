package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Arguments takes what the use line of a command names: <id> is one argument,
// <role>... one or more, [dir] one or none. The hint, if there is one, says
// where to find what is missing, or what an argument too many was meant to be.
func Arguments(hint string) cobra.PositionalArgs {
	if hint != "" {
		hint = "; " + hint
	}
	return func(cmd *cobra.Command, args []string) error {
		_, line, _ := strings.Cut(cmd.Use, " ")
		named := strings.Fields(line)
		needed, most := 0, len(named)
		for _, name := range named {
			if strings.HasPrefix(name, "<") {
				needed++
			}
			if strings.HasSuffix(name, "...") {
				most = len(args)
			}
		}
		switch {
		case len(args) < needed:
			missing := named[len(args):needed]
			is := " is"
			if len(missing) > 1 {
				is = " are"
			}
			return Usagef("%s missing%s\nUsage: %s", strings.Join(missing, " and ")+is, hint, cmd.UseLine())
		case len(args) > most:
			return Usagef("%q is one argument too many%s\nUsage: %s", args[most], hint, cmd.UseLine())
		}
		return nil
	}
}
