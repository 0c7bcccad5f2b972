package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// setting is a flag that sets a key of a specification. Files, factors of studies and flags read values with the same
// code ([spec.Convert]). The type of the key decides how the help calls the value and what completes it.
type setting struct {
	flag, path, help string
	group            string
	brief            bool                               // the short help has it too
	many             bool                               // it may be given several times
	some             bool                               // at least 1
	as               reflect.Type                       // reads the value, if the key is a number without its unit
	read             func(at any, texts []string) error // reads a value of another form into the key at
	at               string
	also             string // another key that an error about the value begins with
	words            completer
}

// completer returns the values that a word may become.
type completer func(cmd *cobra.Command, args []string, word string) []string

// key is a flag for the key at a path. The help has the `name` of the value, unless its type says enough.
func key(flag, path, help string) setting {
	return setting{flag: flag, path: path, at: path, help: help}
}

func (s setting) inBrief() setting             { s.brief = true; return s }
func (s setting) atLeast1() setting            { s.some = true; return s }
func (s setting) under(key string) setting     { s.also = key; return s }
func (s setting) from(words completer) setting { s.words = words; return s }

// unit reads the value as a T.
func unit[T any](s setting) setting {
	s.as = reflect.TypeFor[T]()
	return s
}

// form reads all values of the flag into the key at a path, which may have other keys below it.
func form[T any](s setting, at string, many bool, read func(*T, []string) error) setting {
	s.at, s.many = at, many
	s.read = func(at any, texts []string) error { return read(at.(*T), texts) }
	return s
}

// single is for a form of one value.
func single[T any](s setting, at string, read func(*T, string) error) setting {
	return form(s, at, false, func(to *T, texts []string) error { return read(to, texts[0]) })
}

// in puts settings into a group of the help.
func in(group string, table ...setting) []setting {
	for i := range table {
		table[i].group = group
	}
	return table
}

// below moves a table to the key of a specification that has its own specification below it.
func below(key string, table []setting) []setting {
	join := func(path string) string { return strings.TrimSuffix(key+"."+path, ".") }
	table = slices.Clone(table)
	for i := range table {
		table[i].path, table[i].at = join(table[i].path), join(table[i].at)
	}
	return table
}

// replaced replaces the rows of a table that have the flags of others. Their groups stay, and their words unless others
// have own ones.
func replaced(table []setting, others ...setting) []setting {
	table = slices.Clone(table)
	for _, o := range others {
		i := slices.IndexFunc(table, func(s setting) bool { return s.flag == o.flag })
		if o.group = table[i].group; o.words == nil {
			o.words = table[i].words
		}
		table[i] = o
	}
	return table
}

// briefly keeps only some flags of a table in the short help.
func briefly(table []setting, flags ...string) []setting {
	table = slices.Clone(table)
	for i := range table {
		table[i].brief = slices.Contains(flags, table[i].flag)
	}
	return table
}

// completed is a table with other values of a flag for completion.
func completed(table []setting, flag string, words completer) []setting {
	i := slices.IndexFunc(table, func(s setting) bool { return s.flag == flag })
	table = slices.Clone(table)
	table[i].words = words
	return table
}

// only are the rows with some flags.
func only(table []setting, flags ...string) []setting {
	return slices.DeleteFunc(slices.Clone(table), func(s setting) bool { return !slices.Contains(flags, s.flag) })
}

// settings are the flags of a table.
type settings []*settingValue

// settingValue keeps the texts of a flag until the file was read.
type settingValue struct {
	setting
	of    reflect.Type // the specification
	key   spec.Path
	place spec.Path // of at
	texts []string
}

// addSettings defines the flags of a table for a specification. usual, a pointer to one, has the defaults that the help
// shows.
func addSettings(cmd *cobra.Command, usual any, table []setting) (all settings) {
	for _, s := range table {
		v := &settingValue{setting: s, of: reflect.TypeOf(usual).Elem()}
		var known, placed bool
		v.key, known = spec.PathIn(v.of, s.path)
		if v.place, placed = v.key, known; s.at != s.path {
			v.place, placed = spec.PathIn(v.of, s.at)
		}
		if !known || !placed {
			panic("--" + s.flag + ": " + v.of.String() + " has no key " + s.path) // a test makes all commands
		}
		kind := v.key.Type.Kind()
		v.many = v.many || s.read == nil && (kind == reflect.Slice || kind == reflect.Map)
		f := cmd.Flags().VarPF(v, s.flag, "", v.usage(usual))
		if v.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
		annotate(f, s.group, s.brief)
		_ = cmd.RegisterFlagCompletionFunc(s.flag, v.complete)
		all = append(all, v)
	}
	return all
}

// repeatable ends the help of a flag that may be given several times.
const repeatable = " (repeatable)"

// usage is the help with the default.
func (v *settingValue) usage(usual any) string {
	help := v.help
	if x, given := v.key.Get(usual); given && v.read == nil && !strings.Contains(help, "(default") {
		help += fmt.Sprintf(" (default %s)", shown(x, v.as))
	}
	if v.many {
		help += repeatable
	}
	return help
}

// shown is a value as a person writes it.
func shown(x reflect.Value, as reflect.Type) string {
	switch {
	case as != nil:
		x = x.Convert(as)
	case x.Kind() == reflect.Pointer:
		x = x.Elem()
	}
	switch x.Kind() {
	case reflect.Slice:
		var parts []string
		for i := range x.Len() {
			parts = append(parts, shown(x.Index(i), nil))
		}
		return strings.Join(parts, ",")
	case reflect.Float64:
		return strconv.FormatFloat(x.Float(), 'f', -1, 64)
	}
	return fmt.Sprint(x.Interface())
}

// value is the type that reads the value.
func (v *settingValue) value() reflect.Type {
	if v.as != nil {
		return v.as
	}
	return spec.StructOf(v.key.Type)
}

// String and the following methods are those of [pflag.SliceValue].
func (v *settingValue) String() string            { return strings.Join(v.texts, ",") }
func (v *settingValue) GetSlice() []string        { return v.texts }
func (v *settingValue) Append(text string) error  { return v.Set(text) }
func (v *settingValue) Replace(to []string) error { v.texts = to; return nil }

// Type is what the help calls the value.
func (v *settingValue) Type() string {
	switch v.value() {
	case reflect.TypeFor[spec.Duration]():
		return "time"
	case reflect.TypeFor[spec.Rate]():
		return "ops/s"
	case reflect.TypeFor[spec.Size]():
		return "size"
	case reflect.TypeFor[spec.Count]():
		return "count"
	}
	switch kind := v.value().Kind(); {
	case v.read != nil:
		return "value"
	case kind == reflect.Bool:
		return "bool"
	case kind == reflect.String && len(v.key.Enum()) > 0:
		return strings.Join(v.key.Enum(), "|")
	case kind == reflect.String:
		return "text"
	}
	return "number"
}

// Set keeps a text if a specification can have it.
func (v *settingValue) Set(text string) error {
	if len(v.texts) > 0 && !v.many {
		return errors.New("it is given twice; give it once")
	}
	v.texts = append(v.texts, text)
	return v.apply(reflect.New(v.of).Interface())
}

// apply sets the key of a specification. A list replaces that of the file, names are added to those of the file.
func (v *settingValue) apply(to any) error {
	if v.read != nil {
		at := v.place.At(to, true)
		if at.Kind() == reflect.Pointer {
			if at.IsNil() {
				at.Set(reflect.New(at.Type().Elem()))
			}
			return v.read(at.Interface(), v.texts)
		}
		return v.read(at.Addr().Interface(), v.texts)
	}
	switch v.key.Type.Kind() {
	case reflect.Slice:
		return v.applyList(to)
	case reflect.Map:
		for _, text := range v.texts {
			name, value, err := keyValue(text)
			if err != nil {
				return err
			}
			of, _ := spec.PathIn(v.of, v.path+"."+name)
			x, err := spec.Convert(of.Type, value)
			if err != nil {
				return err
			}
			of.Set(to, x)
		}
		return nil
	}
	x, err := spec.Convert(v.value(), v.texts[0])
	if err != nil {
		return err
	}
	if x.IsZero() {
		if err := spec.RefuseZero(v.path, v.texts[0]); err != nil {
			return err
		}
		if v.some {
			return fmt.Errorf("%s is too few; give at least 1", v.texts[0])
		}
	}
	at := v.key.At(to, true)
	if at.Kind() == reflect.Pointer {
		at.Set(reflect.New(at.Type().Elem()))
		at = at.Elem()
	}
	at.Set(x.Convert(at.Type()))
	return nil
}

func (v *settingValue) applyList(to any) error {
	var list []any
	for _, text := range v.texts {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				return fmt.Errorf("%q has an empty entry; write one or several with commas between them", text)
			}
			list = append(list, part)
		}
	}
	x, err := spec.Convert(v.key.Type, list)
	if err == nil {
		v.key.Set(to, x)
	}
	return err
}

func keyValue(v string) (string, string, error) {
	name, value, ok := strings.Cut(v, "=")
	if !ok || name == "" {
		return "", "", fmt.Errorf("%q is not of the form name=value", v)
	}
	return name, value, nil
}

// apply sets the keys of the given flags, in the order of the table.
func (all settings) apply(to any) error {
	var errs []error
	for _, v := range all {
		if len(v.texts) > 0 {
			if err := v.apply(to); err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", v.flag, err))
			}
		}
	}
	return withExit(exitUsage, errors.Join(errs...))
}

// given are the names of the given flags.
func (all settings) given() (flags []string) {
	for _, v := range all {
		if len(v.texts) > 0 {
			flags = append(flags, v.flag)
		}
	}
	return flags
}

// namedError is an error with flags in place of the keys that they set.
type namedError struct {
	text string
	err  error
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.err }

// named replaces the key at the beginning of each line of an error by the flag that set it.
func (all settings) named(err error) error {
	if err == nil || len(all.given()) == 0 {
		return err
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		begin, rest, _ := strings.Cut(line, ": ")
		inner, more, _ := strings.Cut(rest, ": ") // of a run in a drill
		for _, v := range all {
			if len(v.texts) > 0 && (begin == v.path || begin == v.also) {
				lines[i] = "--" + v.flag + ": " + rest
				break
			}
			if len(v.texts) > 0 && begin+"."+inner == v.path {
				lines[i] = "--" + v.flag + ": " + more
				break
			}
		}
	}
	return &namedError{strings.Join(lines, "\n"), err}
}

// complete are the values that a word may become: the known ones, or a number with each unit.
func (v *settingValue) complete(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	words, kind := v.key.Enum(), v.value().Kind()
	switch {
	case v.words != nil:
		words = v.words(cmd, args, word)
	case v.read != nil || kind == reflect.Bool || kind == reflect.String:
	default:
		if _, err := strconv.ParseFloat(word, 64); err == nil {
			for _, u := range unitsOf[v.value()] {
				words = append(words, word+u)
			}
		}
	}
	if kind == reflect.String && len(v.key.Enum()) == 0 {
		return words, cobra.ShellCompDirectiveDefault // it may be a file
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// unitsOf are the units that complete a number.
var unitsOf = map[reflect.Type][]string{
	reflect.TypeFor[spec.Duration](): {"s", "m", "h", "ms"},
	reflect.TypeFor[spec.Size]():     {"GiB", "MiB", "KiB", "TiB"},
	reflect.TypeFor[spec.Count]():    {"", "k", "M"},
	reflect.TypeFor[spec.Rate]():     {"", "k", "M"},
}

var _ pflag.SliceValue = (*settingValue)(nil)
