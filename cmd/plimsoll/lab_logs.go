package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// followEvery is the time between two reads of a followed log.
const followEvery = 250 * time.Millisecond

func newLabLogsCommand(env *environment) *cobra.Command {
	var follow bool
	var lines int
	var format string
	cmd := &cobra.Command{
		Use:   "logs NAME [MEMBER]",
		Short: "Print the events of a lab or the logs of a member",
		Long: `Print the events of a lab: faults, elections, promotions, restarts and problems. With MEMBER, print the end of
its logs. Both also work if the supervisor of the lab has died.`,
		Example: `  plimsoll lab logs three
  plimsoll lab logs three rs0-1 -f
  plimsoll lab logs three --format md`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usageError("%s takes no further argument, but got %q", cmd.CommandPath(), args[2])
			}
			return someArguments(true, "the name of a lab")(cmd, args)
		},
		ValidArgsFunction: labNames(env, labParts(env, memberNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context(), env)
			defer stop()
			home, err := homeDir(env)
			if err != nil {
				return err
			}
			e, err := lab.Find(ctx, home, args[0])
			if err != nil {
				return labError(err)
			}
			if format != "text" && (follow || len(args) == 2) {
				return usageError("the format %s is for the events of a lab until now: remove --format, or the member and --follow", format)
			}
			if len(args) == 2 {
				return memberLogs(ctx, env, e, args[1], lines, follow)
			}
			most := 0
			if cmd.Flags().Changed("lines") {
				most = lines
			}
			return labEvents(ctx, env, home, e, most, format, follow)
		},
	}
	formatFlag(cmd.Flags(), &format, "events", "text", "md", "json")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until Ctrl-C or the end of the lab")
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "number of last lines of each log, or of last events (default 100 lines, all events)")
	cmd.Flags().Lookup("lines").DefValue = "0" // the text has the default
	return cmd
}

// labEvents prints the last most events of a lab; 0 means all.
func labEvents(ctx context.Context, env *environment, home string, e lab.Entry, most int, format string,
	follow bool) error {
	var seen int64
	show := func(events []record.LabEvent) {
		for _, ev := range events {
			seen = ev.Seq
			fmt.Fprintf(env.stdout, "%s  %-9s  %s\n", ev.Time.UTC().Format("15:04:05.000"), ev.Kind, report.Clean(ev.Text))
		}
	}
	all := lab.Events(home, e.Name)
	if most > 0 {
		all = all[max(0, len(all)-most):]
	}
	if format != "text" {
		return printResult(env.stdout, &report.LabEvents{Name: e.Name, Events: all}, format)
	}
	show(all)
	if !follow || !e.Alive {
		return nil
	}
	h, err := lab.Open(ctx, home, e.Name)
	if err != nil {
		return labError(err)
	}
	defer h.Close()
	for {
		events, err := h.Events(ctx, seen, time.Minute)
		if err != nil && waitRemoved(ctx, home, e.Name) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return labError(err)
		}
		show(events)
	}
}

func memberLogs(ctx context.Context, env *environment, e lab.Entry, name string, lines int, follow bool) error {
	paths, err := logsOf(e, name)
	if err != nil {
		return err
	}
	at := map[string]int64{}
	for _, p := range paths {
		if len(paths) > 1 {
			fmt.Fprintf(env.stdout, "==> %s <==\n", p)
		}
		end, err := lastLines(env.stdout, p, lines)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		at[p] = end
	}
	for follow {
		_ = wait.Sleep(ctx, followEvery)
		if ctx.Err() != nil {
			return nil
		}
		for _, p := range paths {
			end, err := copyFrom(env.stdout, p, at[p])
			if errors.Is(err, fs.ErrNotExist) {
				return nil // the lab was removed
			}
			if err != nil {
				return err
			}
			at[p] = end
		}
	}
	return nil
}

func logsOf(e lab.Entry, name string) ([]string, error) {
	var names []string
	for _, m := range e.Members {
		if m.Name == name {
			if m.Kind == topology.KindVolume {
				return nil, usageError("%s is a volume without a server, so it has no log; plimsoll lab logs %s prints the events of the lab", name, e.Name)
			}
			if len(m.Logs) == 0 {
				return nil, fmt.Errorf("%s has no log yet", name)
			}
			return m.Logs, nil
		}
		names = append(names, m.Name)
	}
	return nil, usageError("the lab %s has no member %q%s (members: %s)", e.Name, name, nearest.DidYouMean(name, names), strings.Join(names, ", "))
}

// copyFrom copies a file from an offset and returns its end. A file that became shorter is copied from its beginning.
func copyFrom(w io.Writer, name string, at int64) (end int64, err error) {
	f, err := safeopen.OpenFile(name)
	if err != nil {
		return at, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return at, err
	}
	if fi.Size() < at {
		at = 0
	}
	n, err := io.Copy(w, io.NewSectionReader(f, at, fi.Size()-at))
	return at + n, err
}

// lastLines copies the last lines of a file and returns its end.
func lastLines(w io.Writer, name string, lines int) (end int64, err error) {
	const window = 1 << 20
	f, err := safeopen.OpenFile(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	text := make([]byte, min(size, window))
	if _, err := f.ReadAt(text, size-int64(len(text))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	begin := len(text)
	for n := 0; begin > 0; begin-- {
		if text[begin-1] == '\n' && begin < len(text) {
			if n++; n == lines {
				break
			}
		}
	}
	_, err = w.Write(text[begin:])
	return size, err
}
