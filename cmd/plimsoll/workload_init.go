package main

import (
	"embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// starters are workload files: an example, and built-in workloads that are not YCSB's.
//
//go:embed starters/*.yaml
var starters embed.FS

// starterNames are the built-in workloads that a workload file can do.
var starterNames = []string{"a", "b", "c", "d", "e", "f", "person", "location", "catalog"}

func newWorkloadInitCommand(env *environment) *cobra.Command {
	text, _ := starters.ReadFile("starters/starter.yaml") // it is embedded
	cmd := newInitCommand(env, "workload", text, "plimsoll workload check", "")
	cmd.Short = "Write an example of a workload file, or a built-in workload as a file"
	cmd.Long = cmd.Short + `.

Without FILE, or if FILE is -, print it. Existing files are not overwritten. The example has comments. With --from, the
file does what a built-in workload does, for you to change.`
	cmd.Example = "  plimsoll workload init my.yaml\n  plimsoll workload init my.yaml --from a"
	var from string
	example := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if from == "" {
			return example(cmd, args)
		}
		text, err := starter(from)
		if err != nil {
			return err
		}
		return writeTemplate(env, args, text, "plimsoll workload check")
	}
	cmd.Flags().StringVar(&from, "from", "", "built-in `workload` to write: "+strings.Join(starterNames, ", "))
	_ = cmd.RegisterFlagCompletionFunc("from", completions(starterNames...))
	return cmd
}

// starter is a built-in workload as a file.
func starter(name string) ([]byte, error) {
	if text, err := starters.ReadFile("starters/" + name + ".yaml"); err == nil && name != "starter" {
		return text, nil
	}
	for _, known := range starterNames {
		if name == known {
			return coreFile(name)
		}
	}
	return nil, usageError("--from: there is no file for the workload %q%s (known: %s)", name,
		nearest.DidYouMean(name, starterNames), strings.Join(starterNames, ", "))
}

// coreFile is one of YCSB's workloads as a file, made of its parameters.
func coreFile(name string) ([]byte, error) {
	params, err := workload.ParamsOf(name)
	if err != nil {
		return nil, err
	}
	of := map[string]string{}
	for _, p := range params {
		of[p.Name] = p.Default
	}
	key := "{_id: {$zipf: usertable}}"
	if of["requestdistribution"] == "latest" {
		key = "{_id: {$latest: usertable}}"
	}
	var fields, changes strings.Builder
	for i := range 10 {
		fmt.Fprintf(&fields, "      field%d: {$binary: %s}\n", i, of["fieldlength"])
		fmt.Fprintf(&changes, "          - {field%d: {$binary: %s}}\n", i, of["fieldlength"])
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# The workload %s as a file. plimsoll workload show %[1]s explains its parameters, docs/workloads.md the keys of a file.
name: my-%[1]s
collections:
  - name: usertable
    count: 100k
    document:
      _id: {$sequence: {prefix: user, hash: true}}
%s`, name, fields.String())
	b.WriteString("operations:\n")
	for _, o := range []struct{ weight, text string }{
		{"readproportion", "  - {name: read, weight: WEIGHT, findOne: usertable, filter: KEY}\n"},
		{"updateproportion", "  - name: update\n    weight: WEIGHT\n    update: usertable\n    filter: KEY\n" +
			"    with:\n      $set:\n        $choose:\n" + changes.String()},
		{"scanproportion", "  - name: scan\n    weight: WEIGHT\n    find: usertable\n    filter: {_id: {$gte: {$zipf: usertable}}}\n" +
			"    sort: {_id: 1}\n    limit: 50 # the mean; the built-in workload draws each length\n    empty: true\n"},
		{"insertproportion", "  - {name: insert, weight: WEIGHT, insert: usertable}\n"},
		{"readmodifywriteproportion", "  - name: read-modify-write\n    weight: WEIGHT\n    let: {key: {$zipf: usertable}}\n    sequence:\n" +
			"      - {name: read, findOne: usertable, filter: {_id: {$var: key}}}\n" +
			"      - {name: write, update: usertable, filter: {_id: {$var: key}}, with: {$set: {field0: {$binary: 100}}}}\n"},
	} {
		if w := of[o.weight]; strings.Trim(w, "0.") != "" {
			b.WriteString(strings.NewReplacer("WEIGHT", w, "KEY", key).Replace(o.text))
		}
	}
	return []byte(b.String()), nil
}
