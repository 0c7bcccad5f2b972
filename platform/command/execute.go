package command

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The keys of the commands of an action.
const (
	stepInject  = "inject"
	stepHeal    = "heal"
	stepWitness = "witness"
)

const (
	mostRead   = 64 << 10 // bytes of output that are read
	mostOutput = 2000     // characters of output that are kept
	// pipesFor is how long the output of a command that has ended stays open for processes that it left behind.
	pipesFor = 200 * time.Millisecond
)

// commandWords are the words that stand for something in commands.
var commandWords = []string{"member", "address", "host", "machine", "action"}

var inBraces = expression.New(`\{[a-z]+\}`)

// checkWords refuses words in braces that look like one of [commandWords]. Others are for the program.
func checkWords(c spec.Commands) error {
	for _, step := range []struct {
		key   string
		words []string
	}{{stepInject, c.Inject}, {stepHeal, c.Heal}, {stepWitness, c.Witness}} {
		for _, w := range step.words {
			for _, braced := range inBraces().FindAllString(w, -1) {
				name := strings.Trim(braced, "{}")
				if hint := nearest.DidYouMean(name, commandWords); hint != "" && !isCommandWord(name) {
					return fmt.Errorf("%s: %s is unknown%s (known: {%s})", step.key, braced, hint, strings.Join(commandWords, "}, {"))
				}
			}
		}
	}
	return nil
}

func isCommandWord(name string) bool {
	for _, w := range commandWords {
		if w == name {
			return true
		}
	}
	return false
}

// memberWord is a word in commands that stands for a member, "" if there is none.
func memberWord(c spec.Commands) string {
	for _, words := range [][]string{c.Inject, c.Heal, c.Witness} {
		for _, braced := range inBraces().FindAllString(strings.Join(words, "\n"), -1) {
			if name := strings.Trim(braced, "{}"); name != "action" && isCommandWord(name) {
				return braced
			}
		}
	}
	return ""
}

// values are what a command gets to know, by the name in words and in the environment.
func values(action string, m *spec.PlatformMember) map[string]string {
	v := map[string]string{"action": action}
	if m != nil {
		v["member"], v["address"], v["machine"], v["zone"] = m.Name, m.Address, m.Machine, m.Zone
		v["host"], _, _ = net.SplitHostPort(m.Address)
	}
	return v
}

// filled are the commands with the values of a member.
func filled(c spec.Commands, v map[string]string) spec.Commands {
	var pairs []string
	for _, name := range commandWords {
		if value, ok := v[name]; ok {
			pairs = append(pairs, "{"+name+"}", value)
		}
	}
	replace := strings.NewReplacer(pairs...)
	for _, words := range []*[]string{&c.Inject, &c.Heal, &c.Witness} {
		list := make([]string, len(*words))
		for i, w := range *words {
			list[i] = replace.Replace(w)
		}
		*words = list
	}
	return c
}

// execute runs one command until it ends or its time is over. hide removes credentials.
func execute(ctx context.Context, words []string, dir string, env map[string]string, limit time.Duration,
	hide func(string) string) (platform.Command, error) {
	c := platform.Command{Text: visible.Line(hide(shellword.Join(words))), Exit: -1}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := childproc.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = cmd.Environ()
	for name, value := range env {
		cmd.Env = append(cmd.Env, "PLIMSOLL_"+strings.ToUpper(name)+"="+value)
	}
	out := &bounded{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, pipesFor
	// The whole group ends, because a shell does not pass a signal on to its children.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	c.Asked = time.Now()
	if err := childproc.Start(cmd); err != nil {
		c.Returned = time.Now()
		c.Problem = visible.Line(hide(err.Error()))
		return c, fmt.Errorf("%w: %s", platform.ErrNotRun, c.Problem)
	}
	err := cmd.Wait()
	c.Returned = time.Now()
	c.Exit = cmd.ProcessState.ExitCode()
	c.Output = visible.Bounded(visible.Lines(strings.TrimRight(hide(out.text()), "\n")), mostOutput)
	switch {
	case ctx.Err() == context.DeadlineExceeded && c.Exit < 0:
		c.Problem = fmt.Sprintf("it did not end within %v", limit)
	case ctx.Err() != nil && c.Exit < 0:
		c.Problem = "it was stopped, because the time for verification was over"
	case c.Exit < 0:
		c.Problem = visible.Line(hide(fmt.Sprint(err)))
	}
	if c.Exit != 0 {
		return c, platform.Failed(c)
	}
	return c, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept.Write(p[:min(len(p), max(0, mostRead-b.kept.Len()))])
	return len(p), nil
}

func (b *bounded) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.String()
}
