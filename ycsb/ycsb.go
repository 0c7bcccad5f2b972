package ycsb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Process is the environment of a call.
type Process struct {
	Stdout, Stderr io.Writer
	Now            func() time.Time
	Tool           record.Tool
	// Address returns the address of the property mongodb.url, which may be a reference to the place of the address.
	Address func(word string) (string, error)
	// Interrupts makes signals end a context, and close abort if the call must end at once. stop ends that.
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

// Run does a call and prints YCSB's lines. Its errors are [Error] if they have a kind or a hint.
func Run(ctx context.Context, args *Args, p Process) error {
	r := &call{process: p, args: args}
	fmt.Fprintln(p.Stderr, r.commandLine())
	if err := r.readAll(); err != nil {
		return err
	}
	return r.execute(ctx)
}

// note prints a line that YCSB does not print.
func (r *call) note(format string, a ...any) {
	fmt.Fprintf(r.process.Stderr, "plimsoll: "+format+"\n", a...)
}

// commandLine returns the arguments that YCSB's launcher passes to the client, without secrets.
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
	if slices.Contains(r.args.words, "-db") {
		return ""
	}
	switch r.args.binding {
	case "mongodb":
		return "site.ycsb.db.MongoDbClient"
	case "mongodb-async":
		return "site.ycsb.db.AsyncMongoDbClient"
	}
	return r.args.binding
}

// redactProperty hides passwords in addresses and the values of properties with secret names.
func redactProperty(word string) string {
	name, _, isPair := strings.Cut(word, "=")
	if isPair && !strings.Contains(word, "://") && redact.SecretName(name) {
		return name + "=" + redact.Hidden
	}
	if i := redact.AddressIn(word); i >= 0 { // a password may contain any character
		return word[:i] + store.Redact(word[i:])
	}
	return store.Redact(word)
}

// readAll reads all properties and prints those without effect.
func (r *call) readAll() error {
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
	open := func(name string) (io.ReadCloser, error) { return safeopen.OpenLimited(name, safeopen.MaxDocument) }
	if r.params, _, err = workload.ParseYCSB(r.props.values, open); err != nil {
		return failed(Usage, fmt.Errorf("property %w", err))
	}
	r.params.Seed = r.settings.seed
	r.settings.batch = int64(r.params.BatchSize)
	switch {
	case r.settings.load && r.settings.operations == 0:
		return hinted(Usage, errors.New("the number of records to load is missing"), "use -p recordcount=1000")
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
		return hinted(Usage, errors.New("the directory of the embedded database is missing"), "use -p embedded.dir=DIR")
	}
	return nil
}
