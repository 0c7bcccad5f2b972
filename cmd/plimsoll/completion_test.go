package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
)

// typed has what a person types before the tab key, and what the shell has to offer then.
var typed = map[string]string{
	"plimsoll run --durability ":        "balanced durable throughput",
	"plimsoll drill --fault power-off:": "power-off:primary power-off:random power-off:secondary",
	"plimsoll engine install ":          "documentdb mongod",
	"plimsoll run --rate 10":            "10M 10k",
	"plimsoll run --workload pers":      "person",
}

// inZsh types into an interactive zsh, and prints what it shows after two tabs. Each answer is awaited.
const inZsh = `zmodload zsh/zpty
zpty z "zsh -f -i"
see() { local all part; while zpty -r z part; do all+=$part; [[ $all == *$1* ]] && break; done; print -r -- $all }
zpty -w z "PS1= PROMPT_EOL_MARK=; autoload -Uz compinit; compinit -u -d $DUMP; source $SCRIPT; echo rea''dy"
see ready >/dev/null
zpty -n -w z "$TYPED"$'\t\t'
see $LAST
zpty -d z
`

func TestShellsComplete(t *testing.T) {
	plimsoll, err := exec.LookPath("plimsoll")
	if err != nil {
		t.Fatal(err) // it is this test, by another name
	}
	for _, shell := range []string{"fish", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				notrun.Here(t, "completion in %s: it is not installed", shell)
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a zsh that never offers the words waits
			defer cancel()
			dir := t.TempDir()
			script := filepath.Join(dir, "completion")
			text, err := exec.CommandContext(ctx, plimsoll, "completion", shell).Output()
			if err != nil || os.WriteFile(script, text, 0o644) != nil {
				t.Fatalf("no script: %v", err)
			}
			for line, want := range typed {
				words := strings.Fields(want)
				cmd := exec.CommandContext(ctx, "fish", "--no-config", "-c", "source $SCRIPT; complete -C $TYPED")
				if shell == "zsh" {
					cmd = exec.CommandContext(ctx, "zsh", "-f", "-c", inZsh)
				}
				cmd.Env = append(os.Environ(), "HOME="+dir, "SCRIPT="+script, "TYPED="+line, "DUMP="+filepath.Join(dir, "dump"),
					"LAST="+words[len(words)-1], "TERM=dumb")
				said, err := cmd.CombinedOutput()
				for _, w := range words {
					if err != nil || !strings.Contains(string(said), w) {
						t.Errorf("%q is not completed with %s: %v\n%s", line, w, err, said)
					}
				}
			}
		})
	}
}
