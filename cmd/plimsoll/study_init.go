package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/record/schema"
)

// studyTemplate is a study with all keys; a test checks that.
//
//go:embed study_template.yaml
var studyTemplate []byte

func newStudyInitCommand(env *environment) *cobra.Command {
	return newInitCommand(env, "study", studyTemplate, "plimsoll study plan", `The example compares
numbers of workers on an embedded database and takes about 15 minutes.`)
}

// newInitCommand prints a template or writes it to a file; next is the command that takes the file.
func newInitCommand(env *environment, what string, template []byte, next, more string) *cobra.Command {
	short := "Write an example of a " + what + " with all keys explained"
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: short,
		Long:  short + ".\n\nWithout FILE, or if FILE is -, print it. Existing files are not overwritten. " + more,
		Args:  atMostOne("file"),
		RunE:  func(_ *cobra.Command, args []string) error { return writeTemplate(env, args, template, next) },
	}
}

// writeTemplate prints a template, or writes it to the file that the arguments name.
func writeTemplate(env *environment, args []string, template []byte, next string) error {
	if len(args) == 0 || args[0] == "-" {
		_, err := env.stdout.Write(template)
		return err
	}
	return writeNew(env, args[0], template, next)
}

func writeNew(env *environment, name string, content []byte, command string) error {
	err := replace.New(name, content, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usageError("%s exists already; give another name or remove the file", name)
	}
	if err != nil {
		return usageError("cannot write %s: %v", name, err)
	}
	fmt.Fprintln(env.stdout, "wrote", name)
	nextStep(env.stdout, command+" "+shellword.Quote(name), "")
	return nil
}

func newStudySchemaCommand(env *environment) *cobra.Command {
	return newSchemaCommand(env, "of a study file", schema.StudySpec)
}

func newSchemaCommand(env *environment, of string, text []byte) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema " + of + ", for editors that validate YAML",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := env.stdout.Write(text)
			return err
		},
	}
}
