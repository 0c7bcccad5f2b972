package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// compositeAction is the part of a composite GitHub Action that a runner needs.
type compositeAction struct {
	Inputs map[string]struct {
		Required bool
		Default  string
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Uses, ID, If, Shell, Run string
			Env                      map[string]string
		}
	}
}

var insertion = regexp.MustCompile(`\$\{\{ *([a-z_.-]+) *\}\}`)

// valueOf fills in the expressions of a text. One that a runner does not know is an error of the action.
func valueOf(t *testing.T, text string, values map[string]string) string {
	t.Helper()
	return insertion.ReplaceAllStringFunc(text, func(e string) string {
		name := insertion.FindStringSubmatch(e)[1]
		value, ok := values[name]
		if !ok {
			t.Errorf("the expression %s is unknown", e)
		}
		return value
	})
}

// runner performs the steps of action.yml in a directory of its own. The program is not compiled, and gh writes down
// how it is called.
type runner struct {
	compositeAction
	top, work, temp string
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(top, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{top: top, work: t.TempDir()}
	if err := yaml.Unmarshal(text, &r.compositeAction); err != nil || r.Runs.Using != "composite" || len(r.Runs.Steps) != 3 {
		t.Fatalf("%+v, %v", r.compositeAction, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.temp = filepath.Join(r.work, "temp")
	for file, text := range map[string]string{
		"short.yaml": "target: embedded:" + filepath.Join(r.work, "data") +
			"\nworkload: {name: a, records: 100}\nload: {workers: 1, warmup: 0s, duration: 1s}\n",
		"tools/go": "#!/bin/sh\n[ \"$*\" = \"build -o $RUNNER_TEMP/bin/plimsoll ./cmd/plimsoll\" ] && [ -f go.mod ] || exit 9\n" +
			"mkdir -p \"$RUNNER_TEMP/bin\" && ln -sf '" + self + "' \"$RUNNER_TEMP/bin/plimsoll\"\n",
		"tools/gh": "#!/bin/sh\necho \"$GH_TOKEN: $*\" >>'" + filepath.Join(r.work, "gh.log") + "'\n",
	} {
		file = filepath.Join(r.work, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// perform performs the action in a pull request, and returns its exit code and what it prints.
func (r *runner) perform(t *testing.T, with map[string]string) (int, string) {
	t.Helper()
	values := map[string]string{"runner.temp": r.temp, "github.token": "secret", "github.event.pull_request.number": "7",
		"github.action_path": r.top, "inputs.spec": filepath.Join(r.work, "short.yaml"),
		"inputs.store": filepath.Join(r.work, "history")}
	for name, in := range r.Inputs {
		if !in.Required {
			values["inputs."+name] = valueOf(t, in.Default, values)
		}
	}
	for name, value := range with {
		values["inputs."+name] = value
	}
	code, text := 0, ""
	for _, step := range r.Runs.Steps[1:] {
		if step.If != "" && !strings.HasPrefix(step.If, "always() && inputs.comment == 'true' && ") {
			t.Fatalf("the condition %s is unknown", step.If)
		}
		if step.If != "" && values["inputs.comment"] != "true" {
			continue
		}
		cmd := exec.Command(step.Shell, "-e", "-o", "pipefail", "-c", step.Run)
		cmd.Dir = r.work
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(r.work, "tools")+":"+os.Getenv("PATH"), "RUNNER_TEMP="+r.temp,
			"GITHUB_ACTION_PATH="+r.top, "GITHUB_OUTPUT="+filepath.Join(r.work, "output"),
			"GITHUB_STEP_SUMMARY="+filepath.Join(r.work, "summary"), "GITHUB_REPOSITORY=me/it", "GITHUB_ACTIONS=true",
			"GITHUB_EVENT_NAME=pull_request", "GITHUB_HEAD_REF=main", "GITHUB_BASE_REF=main", "GITHUB_REF=refs/pull/7/merge",
			"GITHUB_REF_NAME=7/merge")
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+valueOf(t, value, values))
		}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		code, text = max(code, cmd.ProcessState.ExitCode()), text+string(out)
	}
	return code, text
}

// read is the text of a file that the action leaves.
func (r *runner) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.work, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The steps of the action that run the code of a change have no token. Actions are pinned by their commits, here and in
// the documentation.
func TestActionGivesNoToken(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	commands := regexp.MustCompile(`plimsoll|ci\.sh|go build`)
	for _, step := range r.Runs.Steps {
		secret := false
		for name, value := range step.Env {
			secret = secret || strings.Contains(value, "token") || strings.Contains(name, "TOKEN")
		}
		if secret && commands.MatchString(step.Run) {
			t.Errorf("a step that runs the change has a token:\n%s", step.Run)
		}
	}
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}( #.*)?$`)
	uses := regexp.MustCompile(`(?m)uses: *(.*)$`)
	for _, file := range []string{"action.yml", "docs/ci.md"} {
		text, err := os.ReadFile(filepath.Join(r.top, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range uses.FindAllStringSubmatch(string(text), -1) {
			if !pinned.MatchString(u[1]) && !strings.HasPrefix(u[1], "plimsoll-bench/plimsoll@") {
				t.Errorf("%s uses %s, which is not a commit", file, u[1])
			}
		}
	}
}

// The action runs a specification, passes on the exit code of plimsoll ci, and writes the verdict to the summary and,
// if asked to, to the pull request.
func TestAction(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for _, c := range []struct {
		with map[string]string
		code int
	}{{nil, 0}, {map[string]string{"fail-if": "inconclusive,worse", "comment": "false"}, 4}} {
		if code, out := r.perform(t, c.with); code != c.code || !strings.Contains(out, "pr/7 against main: inconclusive") {
			t.Fatalf("exit code %d, want %d\n%s", code, c.code, out)
		}
		comment := r.read(t, "temp/plimsoll/comment.md")
		if got := r.read(t, "summary"); !strings.HasSuffix(got, comment) {
			t.Errorf("the summary is %q, and the comment is %q", got, comment)
		}
		values := map[string]string{}
		for line := range strings.Lines(r.read(t, "output")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			values["steps."+r.Runs.Steps[1].ID+".outputs."+name] = value
		}
		for name, o := range r.Outputs {
			if _, err := os.Stat(valueOf(t, o.Value, values)); err != nil {
				t.Errorf("the output %s: %v", name, err)
			}
		}
		want := "secret: pr comment 7 --repo me/it --edit-last --create-if-none --body-file " + r.temp + "/plimsoll/comment.md\n"
		if got := r.read(t, "gh.log"); got != want { // the second time it was not called
			t.Errorf("gh was called with %q, want %q", got, want)
		}
	}
}
