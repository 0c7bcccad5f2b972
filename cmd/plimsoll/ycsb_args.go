package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// ycsbArgs is a command line of bin/ycsb, taken apart but not yet understood.
type ycsbArgs struct {
	command string            // "load" or "run"
	binding string            // "mongodb", "mongodb-async" or "embedded"
	files   []string          // -P, in order
	props   map[string]string // -p and the flags that stand for a property; the later one wins
	help    bool
	notes   []string // what is accepted and has no effect, for standard error
}

// ycsbFlag is one argument of bin/ycsb. YCSB's arguments have one dash, also where they have many
// letters, which is why the usual parser cannot read them.
type ycsbFlag struct {
	name  string
	value string // what the value is called in messages; "" if there is none
	set   func(a *ycsbArgs, value string) error
}

func ycsbFlags() []ycsbFlag {
	property := func(name string) func(*ycsbArgs, string) error {
		return func(a *ycsbArgs, v string) error { a.props[name] = v; return nil }
	}
	number := func(flag, name string) func(*ycsbArgs, string) error {
		return func(a *ycsbArgs, v string) error {
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				return usageError("%s takes a whole number, not %q", flag, v)
			}
			a.props[name] = v
			return nil
		}
	}
	ignored := func(flag string) func(*ycsbArgs, string) error {
		return func(a *ycsbArgs, _ string) error {
			a.notes = append(a.notes, flag+" is for Java and is ignored")
			return nil
		}
	}
	command := func(name string) func(*ycsbArgs, string) error {
		return func(a *ycsbArgs, _ string) error { return a.setCommand(name) }
	}
	return []ycsbFlag{
		{"-P", "file", func(a *ycsbArgs, v string) error { a.files = append(a.files, v); return nil }},
		{"-p", "name=value", (*ycsbArgs).setProperty},
		{"-s", "", func(a *ycsbArgs, _ string) error { a.props["status"] = "true"; return nil }},
		{"-threads", "n", number("-threads", "threadcount")},
		{"-target", "n", number("-target", "target")},
		{"-l", "label", property("label")},
		{"-db", "class", (*ycsbArgs).setClass},
		{"-load", "", command("load")},
		{"-t", "", command("run")},
		{"-cp", "path", ignored("-cp")},
		{"-jvm-args", "args", ignored("-jvm-args")},
		{"-h", "", func(a *ycsbArgs, _ string) error { a.help = true; return nil }},
		{"-help", "", func(a *ycsbArgs, _ string) error { a.help = true; return nil }},
		{"--help", "", func(a *ycsbArgs, _ string) error { a.help = true; return nil }},
	}
}

// ycsbBindings are what can be loaded. The asynchronous client of YCSB is the same to us: it differs from
// the other one in Java only.
var ycsbBindings = []string{"mongodb", "mongodb-async", "embedded"}

// ycsbClasses maps the class names of bindings to their short names, for the form without a launcher.
var ycsbClasses = map[string]string{
	"site.ycsb.db.MongoDbClient":           "mongodb",
	"com.yahoo.ycsb.db.MongoDbClient":      "mongodb",
	"site.ycsb.db.AsyncMongoDbClient":      "mongodb-async",
	"com.yahoo.ycsb.db.AsyncMongoDbClient": "mongodb-async",
}

// parseYCSBArgs takes apart what follows `plimsoll ycsb`: `load|run BINDING [argument...]` like
// bin/ycsb, or `[-load|-t] -db CLASS [argument...]` like YCSB's own client.
func parseYCSBArgs(args []string) (*ycsbArgs, error) {
	a := &ycsbArgs{props: map[string]string{}}
	flags := ycsbFlags()
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

// setFlag reads the flag at the head of args and returns how many values it used.
func (a *ycsbArgs) setFlag(flags []ycsbFlag, args []string) (used int, err error) {
	name, value, joined := args[0], "", false
	if strings.HasPrefix(name, "-jvm-args=") { // the launcher takes this form, the client none of the kind
		name, value, joined = strings.Cut(name, "=")
	}
	for _, f := range flags {
		if f.name != name {
			continue
		}
		if f.value != "" && !joined {
			if len(args) < 2 {
				return 0, usageError("%s needs a value: %s %s", f.name, f.name, f.value)
			}
			value, used = args[1], 1
		}
		return used, f.set(a, value)
	}
	return 0, unknownYCSBArgument(args[0], flags)
}

// unknownYCSBArgument names the nearest right argument, forgiving a dash too many and a joined value.
func unknownYCSBArgument(arg string, flags []ycsbFlag) error {
	var names []string
	for _, f := range flags {
		names = append(names, strings.TrimLeft(f.name, "-"))
	}
	word, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	hint := "see 'plimsoll ycsb --help'"
	if n := nearest.Word(word, names); n != "" {
		hint = fmt.Sprintf("did you mean -%s?", n)
	}
	return withHint(exitUsage, fmt.Errorf("unknown argument %q", arg),
		hint+" (YCSB prints its usage and exits 0 here; plimsoll exits 2, so that scripts notice)")
}

func (a *ycsbArgs) setProperty(pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return usageError("-p takes name=value (for example -p operationcount=99999), not %q", pair)
	}
	a.props[name] = value
	return nil
}

func (a *ycsbArgs) setClass(class string) error {
	if b, ok := ycsbClasses[class]; ok {
		class = b
	}
	return a.setBinding(class)
}

func (a *ycsbArgs) setCommand(name string) error {
	if a.command != "" && a.command != name {
		return usageError("both %q and %q are asked for; a data set is loaded by one command and used by another", a.command, name)
	}
	a.command = name
	return nil
}

func (a *ycsbArgs) setPositional(word string) error {
	if a.command == "" {
		switch word {
		case "load", "run":
			return a.setCommand(word)
		case "shell":
			return usageError("the interactive shell of YCSB is not supported; use mongosh to look at the data")
		}
		return usageError("unknown command %q%s (known: load, run)", word, nearest.DidYouMean(word, []string{"load", "run"}))
	}
	if a.binding == "" {
		return a.setBinding(word)
	}
	return usageError("%q follows no argument that takes a value; give properties as -p name=value", word)
}

func (a *ycsbArgs) setBinding(name string) error {
	for _, b := range ycsbBindings {
		if b == name {
			a.binding = name
			return nil
		}
	}
	return usageError("unknown database %q%s (plimsoll loads: %s)", name,
		nearest.DidYouMean(name, ycsbBindings), strings.Join(ycsbBindings, ", "))
}

// complete checks that nothing is missing. Without a launcher YCSB runs transactions by default.
func (a *ycsbArgs) complete() error {
	if a.help {
		return nil
	}
	if a.binding == "" && a.command == "" {
		return usageError("say what to do: plimsoll ycsb load|run mongodb -P workloada")
	}
	if a.binding == "" {
		return usageError("say which database to use: plimsoll ycsb %s mongodb", a.command)
	}
	if a.command == "" {
		a.command = "run"
	}
	return nil
}
