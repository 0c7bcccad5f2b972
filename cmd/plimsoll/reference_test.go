package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The reference has every command with all its flags: run the test with -update to write it anew.
func TestReferenceOfFlags(t *testing.T) {
	env, _, _ := engineEnvironment(t.TempDir())
	root := newRootCommand(env)
	root.InitDefaultCompletionCmd()
	var b strings.Builder
	b.WriteString("# Commands and flags\n\nEvery command and all its flags. `plimsoll COMMAND --help` has the common ones, with examples. " +
		"All commands have\n`--help` (`-h`).\n")
	commands := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			if !c.IsAvailableCommand() {
				continue
			}
			commands++
			if c.Runnable() {
				fmt.Fprintf(&b, "\n## %s\n\n%s. Usage: `%s`\n", c.CommandPath(), c.Short, c.UseLine())
				flagTable(&b, c)
			}
			visit(c)
		}
	}
	visit(root)
	if commands < 60 {
		t.Errorf("only %d commands were found", commands)
	}
	path := filepath.Join("..", "..", "docs", "reference", "flags.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(have)); diff != "" {
		t.Errorf("%s does not have the flags of the code (want -, got +). Write it with: make reference\n%s", path, diff)
	}
}

func flagTable(b *strings.Builder, cmd *cobra.Command) {
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ")
	head := "\n| flag | value | meaning |\n|---|---|---|\n"
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == helpAll {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name += ", `-" + f.Shorthand + "`"
		}
		switch f.DefValue {
		case "", "0", "false", "[]", "0s":
		default:
			help += fmt.Sprintf(" (default `%s`)", f.DefValue)
		}
		fmt.Fprintf(b, "%s| %s | %s | %s |\n", head, name, cell.Replace(value), cell.Replace(help))
		head = ""
	})
}
