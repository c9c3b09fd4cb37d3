package cli

import "github.com/spf13/cobra"

// InOrder has the help of a command, and of those below it, show flags in the order in
// which they were added.
func InOrder(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().SortFlags = false
	for _, below := range cmd.Commands() {
		InOrder(below)
	}
	return cmd
}

// Complete names the values that a shell proposes for a flag, which the command
// must have.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	CompleteBy(cmd, flag, func() []string { return values })
}

// CompleteBy is Complete for values that are only found when they are asked for.
func CompleteBy(cmd *cobra.Command, flag string, values func() []string) {
	// It fails for a flag that there is not, which a test of the command shows.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}
