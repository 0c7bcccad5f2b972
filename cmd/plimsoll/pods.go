package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/fleet/kubernetes"
	"github.com/plimsoll-bench/plimsoll/internal/pathname"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// podFlags say that a command runs in pods, one for each node and StorageClass.
type podFlags struct {
	place, volume string
	classes       []string
	kubernetesFlags
}

func (f *podFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.place, "place", "", "`place` to run at: kubernetes (a pod on each node) or kubernetes:NODE,NODE (default this machine)")
	fs.StringSliceVar(&f.classes, "storage-class", nil, "with --place: StorageClass `names`; each pod gets a volume of one (default: that of the cluster)")
	fs.StringVar(&f.volume, "volume-size", "", "with --place: `size` of each volume (default: what the command needs)")
	f.addClusterFlags(fs)
	addPodFlags(fs, &f.Settings)
}

// check refuses arguments and flags that have no meaning in a pod, and pod flags without --place.
func (f *podFlags) check(cmd *cobra.Command, args []string, refused ...string) error {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&podFlags{}).add(own)
	var err error
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		switch {
		case err != nil:
		case f.place == "" && own.Lookup(fl.Name) != nil:
			err = usageError("--%s is for pods: give --place kubernetes too, or remove it", fl.Name)
		case f.place != "" && slices.Contains(refused, fl.Name):
			err = usageError("--%s does not work with --place: remove one of them", fl.Name)
		}
	})
	switch {
	case err != nil:
		return err
	case f.place == "":
		return nil
	case len(args) > 0:
		return usageError("with --place the directory is that of a new volume: remove %s", args[0])
	case f.place != spec.PlaceKubernetes && !strings.HasPrefix(f.place, spec.PlaceKubernetes+":"):
		return usageError("--place %q is unknown: use kubernetes, or kubernetes:NODE,NODE", f.place)
	}
	return nil
}

// arguments are the flags that were given, except some, for the command in a pod.
func arguments(fs *pflag.FlagSet, except ...string) (args []string) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&podFlags{}).add(own)
	fs.Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil || slices.Contains(except, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}

// each runs a task for each node and StorageClass, one after the other because they may share storage. It calls done
// with the output, and returns what failed. An interrupt ends it.
func (f *podFlags) each(ctx context.Context, env *environment, size int64, args func(kubernetes.Task) []string,
	done func(name string, t kubernetes.Task, out kubernetes.Output) error) (failed []string, err error) {
	if f.volume != "" {
		var given spec.Size
		if err := parseFlag(&given, "volume-size", f.volume, spec.ParseSize); err != nil {
			return nil, err
		}
		size = int64(given)
	}
	c, err := kubernetes.Connect(f.kubeconfig, f.namespace)
	if err != nil {
		return nil, withExit(exitUsage, err)
	}
	var names []string
	if _, list, ok := strings.Cut(f.place, ":"); ok {
		names = strings.Split(list, ",")
	}
	nodes, left, err := c.Nodes(ctx, names)
	if err != nil {
		return nil, withExit(exitUnreachable, err)
	}
	classes, err := c.Classes(ctx, f.classes)
	if err != nil {
		return nil, withExit(exitUnreachable, err)
	}
	for _, why := range left {
		fmt.Fprintf(env.stderr, "plimsoll: %s, so it is left out. To include it, name the nodes\n", why)
	}
	n := 0
	for _, class := range classes {
		for _, node := range nodes {
			n++
			t := kubernetes.Task{Node: node, Class: class, Size: size}
			t.Args = args(t)
			fmt.Fprintf(env.stderr, "plimsoll: %s (%d of %d)\n", t, n, len(nodes)*len(classes))
			out, err := c.Perform(ctx, f.Settings, t, func(why string) { fmt.Fprintf(env.stderr, "plimsoll: %s\n", why) })
			if err == nil {
				err = done(node+"_"+class, t, out)
			}
			if ctx.Err() != nil {
				return failed, nil
			}
			if err != nil {
				fmt.Fprintf(env.stderr, "plimsoll: %s: %v\n", t, err)
				failed = append(failed, fmt.Sprintf("%s: %v", t, err))
			}
		}
	}
	return failed, nil
}

// inVolume are flags of `plimsoll disk` that mean this machine.
var inVolume = []string{"device", "fault-socket", "witness", "session", "web", "no-record", "iostat", "predict"}

// runInPods probes volumes of Kubernetes.
func (f *diskFlags) runInPods(cmd *cobra.Command, env *environment) error {
	if !slices.Contains([]string{"text", verbose, "md", "json"}, f.format) {
		return usageError("--format %s does not work with --place: use text, md or json", f.format)
	}
	asked, err := f.spec(cmd, kubernetes.TaskDir)
	if err != nil {
		return err
	}
	out := cmp.Or(f.out, run.NewRecordDir("disk", env.now()))
	if err := record.Vacant(out); err != nil {
		return withExit(exitUsage, err)
	}
	ctx, stop := interruptible(cmd.Context(), env)
	defer stop()
	given := arguments(cmd.Flags(), "out", "format", "quiet")
	args := func(t kubernetes.Task) []string {
		own := []string{"disk", kubernetes.TaskDir, "--out=" + kubernetes.TaskScratch + "/record", "--packed=" + t.String(), "--quiet"}
		return append(own, given...)
	}
	probes := &report.Probes{}
	var ends error
	var dirs []string
	// The journal has files of a segment, and a checkpoint is written beside what it replaces.
	needs := asked.Size + 4*asked.Segment + 2*asked.Dirty
	probes.Failed, err = f.pods.each(ctx, env, needs+needs/8+256<<20, args,
		func(name string, _ kubernetes.Task, o kubernetes.Output) error {
			dir := filepath.Join(out, pathname.Of(name))
			if err := record.UnpackFiles([]byte(o.Log), dir); err != nil {
				return fmt.Errorf("the probe ended with exit code %d: %w: %s", o.Exit, err, endOf(o.Log))
			}
			p, err := record.OpenProbe(dir)
			if err != nil {
				return err
			}
			dirs = append(dirs, dir)
			probes.Names, probes.Probes = append(probes.Names, name), append(probes.Probes, p)
			ends = worse(ends, ending(p.Conclude()))
			return nil
		})
	if err != nil || ctx.Err() != nil && len(dirs) == 0 {
		return cmp.Or(err, withExit(exitInterrupted, errors.New("interrupted; nothing was measured")))
	}
	if err := printResult(env.stdout, probes, f.format); err != nil {
		return err
	}
	if len(dirs) > 0 {
		page := filepath.Join(out, "report.html")
		if err := writeReport(ctx, env, dirs, "html", page); err != nil {
			return err
		}
	}
	return inPodsEnd(ctx, probes.Failed, ends)
}

// inPodsEnd is the exit of a command that ran in pods.
func inPodsEnd(ctx context.Context, failed []string, ends error) error {
	switch {
	case ctx.Err() != nil:
		return withExit(exitInterrupted, errSilent)
	case len(failed) > 0:
		return withExit(exitFailure, errSilent)
	}
	return ends
}

// worse is the error with the higher exit code.
func worse(a, b error) error {
	var x, y *exitError
	if !errors.As(a, &x) || errors.As(b, &y) && y.code > x.code {
		return b
	}
	return a
}

// endOf is the end of a log in one line.
func endOf(log string) string {
	log = strings.Join(strings.Fields(log), " ")
	return log[max(0, len(log)-500):]
}

// doctorVolume is the size of a volume that the doctor only looks at.
const doctorVolume = 1 << 30

// examineInPods examines nodes of Kubernetes, with a volume of each StorageClass.
func examineInPods(cmd *cobra.Command, env *environment, f *podFlags, format string) error {
	ctx, stop := interruptible(cmd.Context(), env)
	defer stop()
	doctors := &report.Doctors{}
	var ends error
	args := func(kubernetes.Task) []string { return []string{"doctor", kubernetes.TaskDir, "--format=json"} }
	var err error
	doctors.Failed, err = f.each(ctx, env, doctorVolume, args,
		func(name string, t kubernetes.Task, o kubernetes.Output) error {
			d := &record.Doctor{}
			begin := strings.Index(o.Log, "{")
			if begin < 0 || safeopen.Unmarshal([]byte(o.Log[begin:]), d) != nil || d.Kind != record.KindDoctor {
				return fmt.Errorf("the doctor ended with exit code %d: %s", o.Exit, endOf(o.Log))
			}
			d.Directory = t.String()
			doctors.Names, doctors.Doctors = append(doctors.Names, name), append(doctors.Doctors, d)
			ends = worse(ends, doctorEnd(d))
			return nil
		})
	if err != nil || ctx.Err() != nil && len(doctors.Doctors) == 0 {
		return cmp.Or(err, withExit(exitInterrupted, errors.New("interrupted; nothing was examined")))
	}
	if err := printResult(env.stdout, doctors, format); err != nil {
		return err
	}
	return inPodsEnd(ctx, doctors.Failed, ends)
}

// packRecord prints the record of a probe for the log of its pod.
func packRecord(env *environment, dir string) error {
	if err := record.PackFiles(direct(env.stdout), dir); err != nil {
		return withExit(exitFailure, fmt.Errorf("cannot hand over the record: %w", err))
	}
	return os.RemoveAll(dir)
}
