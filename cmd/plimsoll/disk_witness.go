package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newWitnessCommand(env *environment) *cobra.Command                                { return &cobra.Command{Use: "witness"} }
func newMongoperfCommand(env *environment) *cobra.Command                              { return &cobra.Command{Use: "mongoperf"} }
func (f *diskFlags) witnessed(ctx context.Context, env *environment, dir string) error { return nil }
