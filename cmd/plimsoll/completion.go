package main

import (
	"io"

	"github.com/spf13/cobra"
)

// shells write the completion script of a shell.
var shells = []struct {
	name  string
	write func(root *cobra.Command, w io.Writer) error
}{
	{"bash", func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
	{"zsh", func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }},
}

func newCompletionCommand(env *environment) *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script with which a shell completes commands, flags and values",
		Long: `Print the script with which a shell completes commands, flags and values: workloads, levels, faults, labs with
their members, engines, units. bash needs the package bash-completion, and zsh "autoload -U compinit; compinit".

For this shell session:

  bash        source <(plimsoll completion bash)
  zsh         source <(plimsoll completion zsh)
  fish        plimsoll completion fish | source
  powershell  plimsoll completion powershell | Out-String | Invoke-Expression

For each session, write the script to the directory of the shell:

  bash        plimsoll completion bash > ~/.local/share/bash-completion/completions/plimsoll
  zsh         plimsoll completion zsh > "${fpath[1]}/_plimsoll"
  fish        plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish`,
		Args:      oneWord("shell", names...),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					return s.write(cmd.Root(), direct(env.stdout))
				}
			}
			return nil
		},
	}
}
