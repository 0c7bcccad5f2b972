package ycsb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Process is what a call has of the process around it.
type Process struct {
	Stdout, Stderr io.Writer
	Now            func() time.Time
	Tool           record.Tool
	// Address returns the address that the property mongodb.url stands for, which may name a place where it is kept.
	Address func(word string) (string, error)
	// Interrupts makes signals end a context, and close the channel where the call must end at once. stop ends that.
	Interrupts func(context.Context) (ctx context.Context, abort <-chan struct{}, stop func())
}

// call is one call of `plimsoll ycsb`.
type call struct {
	process  Process
	args     *Args
	props    *properties
	settings *settings
	params   workload.CoreParams
	url      *target // nil for embedded
}

// Run does what a command line asks for and prints what YCSB prints. It fails with an [Error] where there is more to
// say than what went wrong.
func Run(ctx context.Context, args *Args, p Process) error {
	r := &call{process: p, args: args}
	fmt.Fprintln(p.Stderr, r.commandLine())
	if err := r.understand(); err != nil {
		return err
	}
	return r.execute(ctx)
}

// note prints a line of our own; YCSB's lines have no such prefix.
func (r *call) note(format string, a ...any) {
	fmt.Fprintf(r.process.Stderr, "plimsoll: "+format+"\n", a...)
}

// commandLine repeats the arguments as YCSB's launcher hands them on, without secrets.
func (r *call) commandLine() string {
	parts := []string{"Command line:"}
	if class := r.launcherClass(); class != "" {
		parts = append(parts, "-db", class)
	}
	for _, w := range r.args.words {
		if w != r.args.command && w != r.args.binding {
			parts = append(parts, redactProperty(w))
		}
	}
	if r.args.words[0] == r.args.command {
		parts = append(parts, map[string]string{"load": "-load", "run": "-t"}[r.args.command])
	}
	return strings.Join(parts, " ")
}

// launcherClass is the class that the launcher adds for the short name of a database.
func (r *call) launcherClass() string {
	for _, w := range r.args.words {
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
	if isPair && !strings.Contains(word, "://") && redact.SecretName(name) {
		return name + "=" + redact.Hidden
	}
	if i := redact.AddressIn(word); i >= 0 { // it may have anything in its password
		return word[:i] + store.Redact(word[i:])
	}
	return store.Redact(word)
}

// understand reads all properties and says what has no effect.
func (r *call) understand() error {
	for _, n := range r.args.notes {
		r.note("%s", n)
	}
	props, notes, err := readProperties(r.args)
	if err != nil {
		return err
	}
	r.props = props
	if r.settings, err = settingsFrom(props, r.args.command == "load", uint64(r.process.Now().UnixNano())); err != nil {
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

func (r *call) readWorkload() (err error) {
	open := safeopen.OpenInput
	if r.params, _, err = workload.ParseYCSB(r.props.values, open); err != nil {
		return failed(Usage, fmt.Errorf("property %w", err))
	}
	r.params.Seed = r.settings.seed
	r.settings.batch = int64(r.params.BatchSize)
	switch {
	case r.settings.load && r.settings.operations == 0:
		return hinted(Usage, errors.New("the number of records to load is missing"), "say -p recordcount=1000")
	case r.settings.load || r.props.values["recordcount"] != "":
		return nil
	}
	r.settings.warn("recordcount is missing; as in YCSB, keys are chosen as if there were 2147483647 records")
	return nil
}

func (r *call) readTarget() (err error) {
	if r.args.binding != "embedded" {
		if given, ok := r.props.values["mongodb.url"]; ok {
			if r.props.values["mongodb.url"], err = r.process.Address(given); err != nil {
				return err
			}
		}
		r.url, err = targetFrom(r.props, r.settings.threads)
		return err
	}
	if r.props.values["embedded.dir"] == "" {
		return hinted(Usage, errors.New("the directory of the embedded database is missing"), "say -p embedded.dir=DIR")
	}
	return nil
}
