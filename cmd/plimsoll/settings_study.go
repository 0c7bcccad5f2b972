package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// shareSettings are the flags with which agents send the load of a study or of all parts of a suite.
var shareSettings = only(runSettings, "agents", "place")

// engineSettings are the flags for the engine of the labs that other files describe.
var engineSettings = replaced(only(labSettings, "engine", "binary"),
	key("engine", "engine.name", "`engine` of labs: mongod or documentdb (default: from the file; else mongod if installed, else documentdb)").from(oneOf(engine.Mongod, engine.DocumentDB)),
	key("binary", "engine.binary", "`path` of the mongod of labs (default: the newest installed one, then PATH)"),
)

// studySettings are the flags for the keys of a study.
var studySettings = slicesOf(
	in(studyGroup,
		key("trials", "trials", "number of trials of each configuration (default: from the file)").atLeast1().inBrief(),
		key("seed", "seed", "seed of the order of the trials (default: from the file)").atLeast1().inBrief(),
		key("budget", "budget", "refuse a plan that takes longer than this `time`, for example 8h (default: from the file)").inBrief(),
	),
	below("run", shareSettings),
)

// scaleSettings are the flags for the scale of a suite.
var scaleSettings = in(studyGroup,
	single(key("scale", "", "`size` relative to the document's hardware, for example data=1/64,workers=1/4,cores=1/8,rates=1/10"), "", readScale).inBrief())

// readScale parses data=1/64,workers=1/4.
func readScale(s *spec.Scale, text string) error {
	known := slices.DeleteFunc(spec.KeysOf(reflect.TypeFor[spec.Scale]()), func(k string) bool { return k == "applied" })
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown key %q%s (known: %s); write for example data=1/64,workers=1/4", name, nearest.DidYouMean(name, known), strings.Join(known, ", "))
		}
		of, _ := spec.PathIn(reflect.TypeFor[spec.Scale](), name)
		x, err := spec.Convert(of.Type, value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		of.Set(s, x)
	}
	return nil
}
