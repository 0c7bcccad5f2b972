package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Lines of a help stay lines, and nothing in them is a request of the language of man pages.
func TestManPage(t *testing.T) {
	root := &cobra.Command{Use: "plimsoll"}
	cmd := &cobra.Command{Use: "load TARGET", Short: "Load a target", Long: "Load it:\n\n.SH evil\n'evil\n  a\\nb --x",
		Example: "plimsoll load db-1", Run: func(*cobra.Command, []string) {}}
	cmd.Flags().StringP("workload", "w", "", "the `name` of a workload")
	cmd.Flags().Bool("secret", false, "not for people")
	if err := cmd.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(cmd)
	page := manPage(cmd)
	for _, want := range []string{".TH \"PLIMSOLL-LOAD\" 1 \"\" \"plimsoll " + version + "\"", ".SH NAME\nplimsoll\\-load \\- Load a target\n",
		"\nplimsoll load TARGET [flags]\n", "Load it:\n\n\\&.SH evil\n\\&'evil\n  a\\enb \\-\\-x\n",
		".TP\n\\fB\\-w\\fR, \\fB\\-\\-workload\\fR \\fIname\\fR\nthe name of a workload\n", "\nplimsoll load db\\-1\n",
		".SH SEE ALSO\nplimsoll(1)\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "secret") {
		t.Errorf("the page has a hidden flag:\n%s", page)
	}
}
