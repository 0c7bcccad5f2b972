package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases; otherwise the build information has it.
var version = ""

func toolVersion() (ver, commit string) {
	ver = version
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(ver, "unknown"), ""
	}
	if ver == "" {
		ver = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			commit = s.Value
		}
	}
	return cmp.Or(ver, "(devel)"), commit
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
	ver, commit := toolVersion()
	line := "plimsoll " + ver
	if commit != "" {
		line += " (" + commit[:min(12, len(commit))] + ")"
	}
	_, err := fmt.Fprintf(env.stdout, "%s %s %s/%s\n", line, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
