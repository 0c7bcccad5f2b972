package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands are a command and those below it.
func commands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		all = append(all, commands(c)...)
	}
	return all
}

// The help of every command fits a screen, and --help-all has every flag. Groups are known.
func TestHelpFitsAScreen(t *testing.T) {
	short := 0
	for _, cmd := range commands(newRootCommand(&environment{getenv: os.Getenv})) {
		path := strings.Fields(cmd.CommandPath())[1:]
		code, brief, stderr := here(t, append(path, "--help")...)
		if n := strings.Count(brief, "\n"); code != exitSuccess || n > helpLines || n < 3 {
			t.Errorf("%s --help has %d lines, exit %d:\n%s%s", cmd.CommandPath(), n, code, brief, stderr)
		}
		if cmd.DisableFlagParsing || cmd.Name() == "exit-codes" {
			continue
		}
		code, all, stderr := here(t, append(path, "--help-all")...)
		if code != exitSuccess {
			t.Errorf("%s --help-all ends with %d: %s", cmd.CommandPath(), code, stderr)
		}
		if brief != all {
			short++
			if !strings.Contains(brief, "'"+cmd.CommandPath()+" --help-all' has all flags") {
				t.Errorf("the short help of %s does not name --help-all:\n%s", cmd.CommandPath(), brief)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if in := f.Annotations[groupOf]; in != nil && (len(in) != 1 || !slices.Contains(helpGroups, in[0])) {
				t.Errorf("%s --%s is in the groups %q", cmd.CommandPath(), f.Name, in)
			}
			if !f.Hidden && f.Name != "help" && f.Name != helpAll && !strings.Contains(all, " --"+f.Name) {
				t.Errorf("%s --help-all lacks --%s", cmd.CommandPath(), f.Name)
			}
		})
	}
	if short < 10 {
		t.Errorf("only %d commands have a short help", short)
	}
}

// A letter means one thing in all commands. -p is the property of YCSB's command line and nothing else; a followed log
// is -f in every program.
func TestLettersMeanOneThing(t *testing.T) {
	meaning := map[string]string{"f": "file", "P": "property-file", "q": "quiet", "o": "output", "n": "number lines", "h": "help"}
	for _, cmd := range commands(newRootCommand(&environment{getenv: os.Getenv})) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			followed := cmd.CommandPath() == "plimsoll lab logs" && f.Name == "follow"
			if f.Shorthand == "" || followed || slices.Contains(strings.Fields(meaning[f.Shorthand]), f.Name) {
				return
			}
			t.Errorf("%s: -%s is --%s, elsewhere --%s", cmd.CommandPath(), f.Shorthand, f.Name, meaning[f.Shorthand])
		})
	}
}

// A value of the command line that is nearly right is corrected, and commands are found by their nearest name.
func TestCommandsAreCorrected(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"help runn", "did you mean run?"},
		{"help lab stats", "did you mean status?"},
		{"workloads", "did you mean workload?"},
		{"agents clean", "did you mean agent?"},
		{"completion bsh", "did you mean bash?"},
		{"completion", "needs one shell: bash, zsh, fish, powershell"},
		{"engine install mongo", "did you mean mongod?"},
		{"engine remove documentbd", "did you mean documentdb?"},
		{"workload show prson", "did you mean person?"},
		{"workload init --from persn", "did you mean person?"},
		{"disk . --profile jurnal", "did you mean journal?"},
		{"disk . --mode dirct", "did you mean direct?"},
		{"disk . --operations reed", "did you mean read?"},
		{"run --w majorty", "did you mean majority?"},
	} {
		code, _, stderr := here(t, strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %s, want %q", c.args, code, stderr, c.want)
		}
	}
}

// Completion knows the words of a key, and the units of a number.
func TestValuesAreCompleted(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"run --durability ", "throughput balanced durable"},
		{"run --workload ", "person"},
		{"run --read-preference ", "secondaryPreferred"},
		{"run --client ", "wire driver"},
		{"run --duration 5", "5s 5m 5h"},
		{"run --rate 20", "20 20k"},
		{"run --format ", "text json"},
		{"run n", "null:"},
		{"drill --fault ", "kill: rolling-restart"},
		{"drill --fault kill:", "kill:primary kill:random"},
		{"drill --expect-loss ", "none any"},
		{"lab up --engine ", "mongod documentdb none"},
		{"lab up --device ", "hdd-7200"},
		{"lab up --memory 2", "2GiB 2MiB"},
		{"study run --place ", "manual kubernetes"},
		{"study plan --engine ", "mongod documentdb"},
		{"disk --mode ", "direct mmap"},
		{"disk --size 4", "4GiB"},
		{"engine run ", "mongod documentdb"},
		{"workload show ", "person"},
		{"workload init --from ", "a person catalog"},
		{"capacity --while ", "kill: rolling-restart"},
		{"completion ", "bash zsh fish"},
		{"engine remove ", "mongod documentdb"},
		{"help lab ", "status"},
		{"lab connect x --durability ", "durable majority"},
		{"workload check --engine ", "embedded standalone"},
	} {
		args := strings.Split(c.words, " ")
		code, out, stderr := here(t, append([]string{cobra.ShellCompRequestCmd}, args...)...)
		var lines []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			lines = append(lines, word)
		}
		for _, want := range strings.Fields(c.want) {
			if code != exitSuccess || !slices.Contains(lines, want) {
				t.Errorf("%q is not completed with %q (exit %d): %q %s", c.words, want, code, lines, stderr)
			}
		}
	}
}

// A value that is refused is refused by the name of its flag, with the value and what is accepted; one that is given
// once too often too.
func TestFlagsInErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"run null: --rate 1e12", "--rate: 1000000000000 is not between 0 and 100000000"},
		{"run null: --client drivr", `--client: unknown value "drivr", did you mean driver? (known: wire, driver)`},
		{"run null: --rate fast", `"fast" for "--rate" flag: "fast" is not a number: write it like`},
		{"run null: --rate 5 --rate 6", `"--rate" flag: it is given twice`},
		{"run null: --causal=maybe", `"maybe" is neither true nor false`},
		{"run null: --label x", `"x" is not of the form name=value`},
		{"run null: --slo a,,b", "has an empty entry"},
		{"drill lab:x --fault kill:primary --timeout 1", `"--timeout" flag: the time "1" needs a unit, did you mean 1s?`},
		{"drill lab:x --fault kill:primary --client drivr", "--client: unknown value"},
		{"drill lab:x --fault kill:primary --repeat 0", "0 is too few; give at least 1"},
		{"lab plan --members 3 --members 5", `"--members" flag: it is given twice`},
	} {
		code, _, stderr := here(t, strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %s, want %q", c.args, code, stderr, c.want)
		}
	}
	if code, out, stderr := here(t, "run", "null:", "--slo", "p99<1s", "--slo", "errors<1%", "--label", "a=b=c", "--journal=false", "--print-spec"); code != exitSuccess ||
		!strings.Contains(out, "a: b=c") || !strings.Contains(out, "errors<1%") || !strings.Contains(out, "journal: false") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
}
