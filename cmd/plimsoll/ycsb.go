package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

const ycsbHelp = `plimsoll ycsb takes the command line of YCSB's launcher, writes the same records and prints the same
lines, so that scripts made for bin/ycsb keep working:

  plimsoll ycsb load mongodb -P workloads/workloada -p mongodb.url=mongodb://host/ycsb -threads 16
  plimsoll ycsb run  mongodb -P workloads/workloada -p mongodb.url=mongodb://host/ycsb -threads 16 -target 5000 -s

Databases: mongodb, mongodb-async (the same), and embedded with -p embedded.dir=DIR (a directory on this
machine, no server needed). Without the launcher's words, -db site.ycsb.db.MongoDbClient -load|-t works too.

  -P file         properties of the workload; may be repeated, later files win.
                  workloada … workloadf are built in where there is no such file
  -p name=value   one property; wins over all files
  -threads n      the property threadcount
  -target n       the property target: operations per second of all threads together
  -s              the property status: a line on standard error every status.interval seconds
  -l label        the property label: what status lines begin with
  -cp, -jvm-args  are accepted and ignored

Properties beyond those of YCSB:
  plimsoll.client=driver|wire       the official driver (default), or the fast client
  plimsoll.seed=n                   the same operations again
  plimsoll.timeout=60s              longest time for one operation
  plimsoll.out=DIR                  keep a record, for 'plimsoll show DIR'
  plimsoll.ycsb.version=0.17|0.18   whose lines to print (default 0.18)
  plimsoll.strict=true              a property that looks misspelled is an error

Command lines can be read by every user of the machine. Keep an address with a password out of them:
-p mongodb.url=env:NAME takes it from an environment variable, -p mongodb.url=@FILE from the line in a file,
-p mongodb.url=@- from standard input, and a property file (-P) can hold mongodb.url too.

Exit codes, where YCSB has 0 for nearly everything: 0 done, also if some operations of a run failed; 1 a load
came short; 2 wrong arguments or properties; 3 the target cannot be reached; 6 nothing was done, or all of it
failed; 130 interrupted. docs/ycsb.md lists what differs from YCSB and why.
`

func newYCSBCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:                "ycsb load|run DATABASE [-P file]... [-p name=value]... [-threads n] [-target n] [-s]",
		Short:              "Take the command line of YCSB and print what YCSB prints",
		Long:               ycsbHelp,
		DisableFlagParsing: true, // YCSB's arguments are -threads, not --threads
		RunE: func(cmd *cobra.Command, args []string) error {
			return runYCSB(cmd.Context(), env, args)
		},
	}
}

// ycsbRun is one call of `plimsoll ycsb`.
type ycsbRun struct {
	env      *environment
	words    []string
	args     *ycsbArgs
	props    *ycsbProps
	settings *ycsbSettings
	params   workload.CoreParams
	url      *ycsbURL // nil for embedded
}

func runYCSB(ctx context.Context, env *environment, words []string) error {
	args, err := parseYCSBArgs(words)
	if err != nil {
		return err
	}
	if args.help {
		_, err := io.WriteString(env.stdout, ycsbHelp)
		return err
	}
	r := &ycsbRun{env: env, words: words, args: args}
	fmt.Fprintln(env.stderr, r.commandLine())
	if err := r.understand(); err != nil {
		return err
	}
	return r.execute(ctx)
}

// note prints a line of our own; YCSB's lines have no such prefix.
func (r *ycsbRun) note(format string, a ...any) {
	fmt.Fprintf(r.env.stderr, "plimsoll: "+format+"\n", a...)
}

// commandLine repeats the arguments as YCSB's launcher hands them on, without secrets.
func (r *ycsbRun) commandLine() string {
	parts := []string{"Command line:"}
	if class := r.launcherClass(); class != "" {
		parts = append(parts, "-db", class)
	}
	for _, w := range r.words {
		if w != r.args.command && w != r.args.binding {
			parts = append(parts, redactProperty(w))
		}
	}
	if r.words[0] == r.args.command {
		parts = append(parts, map[string]string{"load": "-load", "run": "-t"}[r.args.command])
	}
	return strings.Join(parts, " ")
}

// launcherClass is the class that the launcher adds for the short name of a database.
func (r *ycsbRun) launcherClass() string {
	for _, w := range r.words {
		if w == "-db" {
			return ""
		}
	}
	switch r.args.binding {
	case "mongodb":
		return "site.ycsb.db.MongoDbClient"
	case "mongodb-async":
		return "site.ycsb.db.AsyncMongoDbClient"
	}
	return r.args.binding
}

// redactProperty hides passwords in addresses and in properties whose name speaks of one.
func redactProperty(word string) string {
	name, _, isPair := strings.Cut(word, "=")
	low := strings.ToLower(name)
	if isPair && !strings.Contains(word, "://") && (strings.Contains(low, "password") || strings.Contains(low, "secret")) {
		return name + "=***"
	}
	if i := addressIn(word); i >= 0 { // it may have anything in its password
		return word[:i] + store.Redact(word[i:])
	}
	return store.Redact(word)
}

// understand reads all properties and says what has no effect.
func (r *ycsbRun) understand() error {
	for _, n := range r.args.notes {
		r.note("%s", n)
	}
	props, notes, err := readYCSBProps(r.args)
	if err != nil {
		return err
	}
	r.props = props
	if r.settings, err = ycsbSettingsFrom(props, r.args.command == "load", uint64(r.env.now().UnixNano())); err != nil {
		return err
	}
	if err := r.readWorkload(); err != nil {
		return err
	}
	if err := r.readTarget(); err != nil {
		return err
	}
	for _, n := range append(notes, r.settings.warnings...) {
		r.note("%s", n)
	}
	return nil
}

func (r *ycsbRun) readWorkload() (err error) {
	open := safeopen.OpenInput
	if r.params, _, err = workload.ParseYCSB(r.props.values, open); err != nil {
		return withExit(exitUsage, fmt.Errorf("property %w", err))
	}
	r.params.Seed = r.settings.seed
	r.settings.batch = int64(r.params.BatchSize)
	switch {
	case r.settings.load && r.settings.operations == 0:
		return withHint(exitUsage, errors.New("the number of records to load is missing"), "say -p recordcount=1000")
	case r.settings.load || r.props.values["recordcount"] != "":
		return nil
	}
	r.settings.warn("recordcount is missing; as in YCSB, keys are chosen as if there were 2147483647 records")
	return nil
}

func (r *ycsbRun) readTarget() (err error) {
	if r.args.binding != "embedded" {
		if given, ok := r.props.values["mongodb.url"]; ok {
			if r.props.values["mongodb.url"], err = addressOf(r.env, given); err != nil {
				return err
			}
		}
		r.url, err = ycsbURLFrom(r.props, r.settings.threads)
		return err
	}
	if r.props.values["embedded.dir"] == "" {
		return withHint(exitUsage, errors.New("the directory of the embedded database is missing"), "say -p embedded.dir=DIR")
	}
	return nil
}
