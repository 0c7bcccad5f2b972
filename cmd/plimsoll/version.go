package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// version is that of the next release. It is the only place: the packages of `make release` and the man pages take it
// from the program, and internal/repotest compares the chart and the changelog with it.
const version = "0.1.0"

// tool is this program.
func tool() record.Tool {
	t := record.Tool{Name: "plimsoll", Version: version, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Commit = s.Value
		case "vcs.modified":
			t.Modified = s.Value == "true"
		}
	}
	return t
}

func newVersionCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of plimsoll",
		Args:  noArguments,
		RunE:  func(*cobra.Command, []string) error { return printVersion(env) },
	}
}

func printVersion(env *environment) error {
	t := tool()
	_, err := fmt.Fprintf(env.stdout, "%s %s %s/%s\n", report.Version(t), t.Go, runtime.GOOS, runtime.GOARCH)
	return err
}
