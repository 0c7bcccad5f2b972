package ycsb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// Args is a parsed command line of bin/ycsb.
type Args struct {
	Help    bool              // print the usage and ignore the rest
	words   []string          // the arguments
	command string            // "load" or "run"
	binding string            // "mongodb", "mongodb-async" or "embedded"
	files   []string          // -P, in order
	props   map[string]string // -p and the flags for properties; the last one counts
	notes   []string          // accepted flags without effect, for standard error
}

// flag is one argument of bin/ycsb. YCSB's long arguments have one dash, which the usual parser cannot read.
type flag struct {
	name  string
	value string // name of the value in messages; "" for none
	set   func(a *Args, value string) error
}

func knownFlags() []flag {
	property := func(name string) func(*Args, string) error {
		return func(a *Args, v string) error { a.props[name] = v; return nil }
	}
	number := func(flag, name string) func(*Args, string) error {
		return func(a *Args, v string) error {
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				return usage("%s takes a whole number, not %q", flag, v)
			}
			a.props[name] = v
			return nil
		}
	}
	ignored := func(flag string) func(*Args, string) error {
		return func(a *Args, _ string) error {
			a.notes = append(a.notes, flag+" is for Java and is ignored")
			return nil
		}
	}
	command := func(name string) func(*Args, string) error {
		return func(a *Args, _ string) error { return a.setCommand(name) }
	}
	return []flag{
		{"-P", "file", func(a *Args, v string) error { a.files = append(a.files, v); return nil }},
		{"-p", "name=value", (*Args).setProperty},
		{"-s", "", func(a *Args, _ string) error { a.props["status"] = "true"; return nil }},
		{"-threads", "n", number("-threads", "threadcount")},
		{"-target", "n", number("-target", "target")},
		{"-l", "label", property("label")},
		{"-db", "class", (*Args).setClass},
		{"-load", "", command("load")},
		{"-t", "", command("run")},
		{"-cp", "path", ignored("-cp")},
		{"-jvm-args", "args", ignored("-jvm-args")},
		{"-h", "", func(a *Args, _ string) error { a.Help = true; return nil }},
		{"-help", "", func(a *Args, _ string) error { a.Help = true; return nil }},
		{"--help", "", func(a *Args, _ string) error { a.Help = true; return nil }},
		{"--help-all", "", func(a *Args, _ string) error { a.Help = true; return nil }}, // as all commands of plimsoll
	}
}

// bindings are the supported databases. The asynchronous client of YCSB differs from the other one in Java only.
var bindings = []string{"mongodb", "mongodb-async", "embedded"}

// classes maps the class names of bindings to their short names.
var classes = map[string]string{
	"site.ycsb.db.MongoDbClient":           "mongodb",
	"com.yahoo.ycsb.db.MongoDbClient":      "mongodb",
	"site.ycsb.db.AsyncMongoDbClient":      "mongodb-async",
	"com.yahoo.ycsb.db.AsyncMongoDbClient": "mongodb-async",
}

// ParseArgs parses the arguments of `plimsoll ycsb`: `load|run BINDING [argument...]` like bin/ycsb, or
// `[-load|-t] -db CLASS [argument...]` like YCSB's client.
func ParseArgs(args []string) (*Args, error) {
	a := &Args{words: args, props: map[string]string{}}
	flags := knownFlags()
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") || args[i] == "-" {
			if err := a.setPositional(args[i]); err != nil {
				return nil, err
			}
			continue
		}
		used, err := a.setFlag(flags, args[i:])
		if err != nil {
			return nil, err
		}
		i += used
	}
	return a, a.complete()
}

// setFlag reads the flag args[0] and returns the number of used values.
func (a *Args) setFlag(flags []flag, args []string) (used int, err error) {
	name, value, joined := args[0], "", false
	if strings.HasPrefix(name, "-jvm-args=") { // only the launcher has a flag of this form
		name, value, joined = strings.Cut(name, "=")
	}
	for _, f := range flags {
		if f.name != name {
			continue
		}
		if f.value != "" && !joined {
			if len(args) < 2 {
				return 0, usage("%s needs a value: %s %s", f.name, f.name, f.value)
			}
			value, used = args[1], 1
		}
		return used, f.set(a, value)
	}
	return 0, unknownArgument(args[0], flags)
}

// unknownArgument names the most similar argument, ignoring dashes and a joined value.
func unknownArgument(arg string, flags []flag) error {
	var names []string
	for _, f := range flags {
		names = append(names, strings.TrimLeft(f.name, "-"))
	}
	word, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	hint := "see 'plimsoll ycsb --help'"
	if n := nearest.Word(word, names); n != "" {
		hint = fmt.Sprintf("did you mean -%s?", n)
	}
	return hinted(Usage, fmt.Errorf("unknown argument %q", arg),
		hint+" (YCSB prints its usage and exits 0 here; plimsoll exits 2, so that scripts notice)")
}

func (a *Args) setProperty(pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return usage("-p takes name=value (for example -p operationcount=99999), not %q", pair)
	}
	a.props[name] = value
	return nil
}

func (a *Args) setClass(class string) error {
	if b, ok := classes[class]; ok {
		class = b
	}
	return a.setBinding(class)
}

func (a *Args) setCommand(name string) error {
	if a.command != "" && a.command != name {
		return usage("%q and %q exclude each other: load the data set by one call and run the operations by another",
			a.command, name)
	}
	a.command = name
	return nil
}

func (a *Args) setPositional(word string) error {
	if a.command == "" {
		switch word {
		case "load", "run":
			return a.setCommand(word)
		case "shell":
			return usage("the interactive shell of YCSB is not supported; use mongosh to read the data")
		}
		return usage("unknown command %q%s (known: load, run)", word, nearest.DidYouMean(word, []string{"load", "run"}))
	}
	if a.binding == "" {
		return a.setBinding(word)
	}
	return usage("unexpected argument %q; set properties by -p name=value", word)
}

func (a *Args) setBinding(name string) error {
	if !slices.Contains(bindings, name) {
		return usage("unknown database %q%s (known: %s)", name,
			nearest.DidYouMean(name, bindings), strings.Join(bindings, ", "))
	}
	a.binding = name
	return nil
}

// complete checks that nothing is missing. YCSB's client runs transactions by default.
func (a *Args) complete() error {
	if a.Help {
		return nil
	}
	if a.binding == "" && a.command == "" {
		return usage("no command: use plimsoll ycsb load|run mongodb -P workloada")
	}
	if a.binding == "" {
		return usage("no database: use plimsoll ycsb %s mongodb", a.command)
	}
	if a.command == "" {
		a.command = "run"
	}
	return nil
}
