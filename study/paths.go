package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Apply returns a copy of base with the keys of set changed. A key is the path of a field of the run specification,
// such as load.workers, or of a parameter or label, such as workload.params.fieldlength. A value has the form of a
// specification file or of JSON; nil unsets the key. The error for an unknown path names the nearest one. Defaults are
// not filled in.
func Apply(base spec.Run, set map[string]any) (spec.Run, error) {
	changes, err := newChanges(set)
	if err != nil {
		return spec.Run{}, err
	}
	for _, c := range changes {
		if ownerOf(c.path.Name) == "lab" {
			return spec.Run{}, fmt.Errorf("path %q belongs to a lab, not to a run", c.path.Name)
		}
	}
	return settings{Run: base}.with(changes).Run, nil
}

// settings is what the levels of a study change: the run, and the lab that the study brings up. Its keys are those of a
// run, and those of a lab below "lab".
type settings struct {
	spec.Run
	Lab spec.Lab `yaml:"lab"`
}

// with returns a copy with changes.
func (w settings) with(changes []change) settings {
	w = deep.Copy(w)
	for _, c := range changes {
		c.path.Set(&w, c.value)
	}
	return w
}

// complete fills in what neither base nor levels say, and checks the result.
func (w *settings) complete(lab bool) error {
	err := w.Run.Complete()
	if !lab {
		return err
	}
	errs := []error{err}
	if err := w.Lab.Complete(); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			errs = append(errs, errors.New(labPrefix+line))
		}
	}
	return errors.Join(errs...)
}

// labPrefix begins the paths of the lab.
const labPrefix = "lab."

// ownerOf is what has the key of a path.
func ownerOf(path string) string {
	if strings.HasPrefix(path, labPrefix) {
		return "lab"
	}
	return "run"
}

// find follows a path through the specification of a run or, after "lab.", of a lab.
func find(path string) (spec.Path, error) {
	p, ok := spec.PathIn(reflect.TypeFor[settings](), path)
	switch {
	case !ok:
		return p, unknownPath(path)
	case path == "":
		return p, fmt.Errorf("path %q has keys below it. Name one of them: %s", path, strings.Join(runPaths(), ", "))
	case p.Type.Kind() == reflect.Struct:
		return p, fmt.Errorf("path %q has keys below it. Name one of them: %s", path,
			strings.Join(below(p.Type, strings.TrimSuffix(path, ".")), ", "))
	case p.Type.Kind() == reflect.Map:
		return p, fmt.Errorf("path %q has names below it. Write %s.NAME", path, path)
	}
	return p, decidedByStudy(path)
}

// decidedByStudy rejects paths that levels cannot set.
func decidedByStudy(path string) error {
	switch path {
	case "out":
		return fmt.Errorf("path %q: the study sets the directories of its trials", path)
	case "load_phase.only":
		return fmt.Errorf("path %q: a trial that ends after loading measures nothing", path)
	case "lab.name":
		return fmt.Errorf("path %q: the lab of a study has one name", path)
	}
	if strings.HasPrefix(path, "observe.") {
		return fmt.Errorf("path %q: all trials are observed in the same way", path)
	}
	if strings.HasPrefix(path, "lab.labels") {
		return fmt.Errorf("path %q: labels have no effect", path)
	}
	return nil
}

// below lists the paths that can be set below a type.
func below(t reflect.Type, path string) []string {
	var paths []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := strings.TrimPrefix(path+"."+spec.KeyOf(f), ".")
		switch inner := spec.StructOf(f.Type); {
		case inner.Kind() == reflect.Struct:
			paths = append(paths, below(inner, name)...)
		case f.Type.Kind() == reflect.Map && decidedByStudy(name+".NAME") != nil:
		case f.Type.Kind() == reflect.Map:
			paths = append(paths, name+".NAME")
		case decidedByStudy(name) == nil:
			paths = append(paths, name)
		}
	}
	return paths
}

// otherWords are the names of keys in other tools and in the write concern.
var otherWords = map[string]string{
	"threads": "load.workers", "threadcount": "load.workers", "recordcount": "workload.records",
	"operationcount": "load.operations", "j": "durability.journal", "readconcern": "durability.read_concern",
	"nodes": "lab.topology.members", "replicas": "lab.topology.members", "ftt": "lab.storage.tolerate",
	"raid":         "lab.storage.redundancy",
	"stripe_width": "lab.storage.stripe", "wiredtigercachesizegb": "lab.engine.cache",
}

func runPaths() []string { return below(reflect.TypeFor[spec.Run](), "") }

func unknownPath(path string) error {
	runs, labs := runPaths(), below(reflect.TypeFor[spec.Lab](), "lab")
	what, own, other := "run", runs, labs
	if strings.HasPrefix(path, labPrefix) {
		what, own, other = "lab", labs, runs
	}
	last := path[strings.LastIndexByte(path, '.')+1:]
	hint := otherWords[strings.ToLower(last)]
	for _, p := range slices.Concat(own, other) {
		if hint == "" && strings.HasSuffix(p, "."+last) {
			hint = p
		}
	}
	if hint == "" {
		hint = nearest.Word(path, own)
	}
	if hint != "" {
		return fmt.Errorf("path %q: the %s has no such key, did you mean %s?", path, what, hint)
	}
	return fmt.Errorf("path %q: the %s has no such key (known: %s)", path, what, strings.Join(own, ", "))
}

// plain returns a parsed value in the form of records: as in JSON, with whole numbers as int. Those that JSON cannot
// hold become text.
func plain(v reflect.Value) any {
	if v.Kind() == reflect.Uint64 && v.Uint() > 1<<53 {
		return strconv.FormatUint(v.Uint(), 10)
	}
	b, err := json.Marshal(v.Interface())
	if err != nil { // cannot happen; a test of package record checks it
		return fmt.Sprint(v.Interface())
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		return string(b)
	}
	return spec.Plain(out)
}
