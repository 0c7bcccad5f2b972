package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestEngineDocs parses every command that docs/engines.md shows, and looks up every flag that it names.
// They are not run: they install servers and start them.
func TestEngineDocs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "engines.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := shellCommands(string(page))
	if len(commands) < 10 {
		t.Fatalf("found only %d commands: %q", len(commands), commands)
	}
	for _, line := range commands {
		words := strings.Fields(strings.TrimPrefix(line, "sudo "))
		if words[0] != "plimsoll" {
			t.Errorf("%q is no call of plimsoll", line)
			continue
		}
		if err := parses(t, words[1:]); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("`--([a-z0-9-]+)").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = true
	}
	flags := engineFlagNames(t)
	for name := range documented {
		if !flags[name] && name != "client" {
			t.Errorf("no engine command has the flag --%s", name)
		}
	}
}

// parses checks a command line without running it.
func parses(t *testing.T, args []string) error {
	env, _, _ := engineEnvironment(t.TempDir())
	cmd, rest, err := newRootCommand(env).Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// engineFlagNames are the names of all flags of `plimsoll engine install` and `run`.
func engineFlagNames(t *testing.T) map[string]bool {
	env, _, _ := engineEnvironment(t.TempDir())
	names := map[string]bool{}
	for _, cmd := range []*cobra.Command{newEngineInstallCommand(env), newEngineRunCommand(env)} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	}
	return names
}
