package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// ReadSuite reads a suite in YAML (JSON is YAML), as strictly as [ReadRun]. Nothing beyond the form is checked:
// see [Suite.Validate]. The files of its parts are read by package suite.
func ReadSuite(r io.Reader) (Suite, error) {
	s, err := ReadStrict[Suite](r, "suite")
	if err != nil {
		return s, err
	}
	for i := range s.Parts {
		for key, values := range s.Parts[i].Each {
			if _, err := json.Marshal(values); err != nil { // a mapping by numbers, or not a number
				return Suite{}, fmt.Errorf("suite: part %s: each: %s: values are texts, numbers, true and false", s.Parts[i].called(i), key)
			}
		}
	}
	return s, nil
}

// suiteNeeds are what a part of a suite may need.
func suiteNeeds() []string { return append([]string{"root", "md", "lvm"}, Capabilities()...) }

// suiteGives are the keys that a study can give to later parts, by the procedures that find them.
var suiteGives = []string{"load.workers", "load.duration", "load.operations", "load.rate"}

// partName is what a directory and a heading can be called.
var partName = expression.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Validate says what is wrong with a suite, with a line per mistake that names the part and the key.
func (s Suite) Validate() error {
	errs := []error{directory("out", s.Out)}
	if s.Name == "" {
		errs = append(errs, errors.New("name: the suite needs one"))
	}
	if len(s.Parts) == 0 {
		errs = append(errs, errors.New("parts: there is none. Add a study, a drill or a probe"))
	}
	if s.Scale != nil && s.Scale.Applied {
		errs = append(errs, errors.New("scale: plimsoll writes applied. Remove it"))
	}
	seen := map[string]int{}
	for i := range s.Parts {
		p := &s.Parts[i]
		for _, err := range p.mistakes() {
			errs = append(errs, fmt.Errorf("part %s: %w", p.called(i), err))
		}
		if name := p.NameOf(); name != "" {
			if other, twice := seen[name]; twice {
				errs = append(errs, fmt.Errorf("part %s: it has the same name as part %d. Rename one (name)", p.called(i), other+1))
			}
			seen[name] = i
		}
	}
	return errors.Join(errs...)
}

// called names a part in a message.
func (p *Part) called(i int) string {
	if name := p.NameOf(); name != "" {
		return fmt.Sprintf("%d (%s)", i+1, name)
	}
	return fmt.Sprint(i + 1)
}

// NameOf is the name of a part: its own, or that of its file; "" for a probe without one.
func (p Part) NameOf() string {
	if p.Name != "" {
		return p.Name
	}
	file := p.Study + p.Drill
	file = file[strings.LastIndexByte(file, '/')+1:]
	return strings.TrimSuffix(strings.TrimSuffix(file, ".yaml"), ".yml")
}

// The kinds of a part are those of the records that parts leave.
const (
	partStudy = "study"
	partDrill = "drill"
	partProbe = "probe"
)

// Kind is study, drill or probe.
func (p Part) Kind() string {
	switch {
	case p.Study != "":
		return partStudy
	case p.Drill != "":
		return partDrill
	}
	return partProbe
}

func (p *Part) mistakes() []error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	kinds := 0
	for _, given := range []bool{p.Study != "", p.Drill != "", p.Probe != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		bad("it must have exactly one of study, drill and probe, and has %d", kinds)
		return errs
	}
	kind := p.Kind()
	switch name := p.NameOf(); {
	case name == "":
		bad("name: a probe needs one: there is no file whose name it could have")
	case !partName().MatchString(name):
		bad("name: %q cannot be the name of a directory everywhere: take letters, digits, . _ and -, 64 at most", name)
	}
	for _, need := range p.Needs {
		if need == LabMongod || need == LabDocumentDB {
			bad("needs: %s is an engine, and a part needs a capability of it: %s; leave it out where any engine will do (--engine chooses one)", need, strings.Join(Capabilities(), ", "))
			continue
		}
		if !slices.Contains(suiteNeeds(), need) {
			bad("needs: there is no %q%s (known: %s)", need, nearest.DidYouMean(need, suiteNeeds()), strings.Join(suiteNeeds(), ", "))
		}
	}
	for _, key := range p.Gives {
		if !slices.Contains(suiteGives, key) {
			bad("gives: no procedure finds %q%s (known: %s)", key, nearest.DidYouMean(key, suiteGives), strings.Join(suiteGives, ", "))
		}
	}
	for key, values := range p.Each {
		if len(values) == 0 {
			bad("each: %s has no values", key)
		}
	}
	if len(p.Gives) > 0 && kind != partStudy {
		bad("gives: only the procedures of a study find something; this is a %s", kind)
	}
	if len(p.Each) > 0 && kind == partProbe {
		bad("each: a probe has no run whose keys could be set; write one part for each")
	}
	if p.Repeat != 0 && kind != partDrill {
		bad("repeat: only drills are repeated; a study has trials")
	}
	if p.Repeat < 0 {
		bad("repeat: %d is less than 1", p.Repeat)
	}
	if p.Probe != nil {
		errs = append(errs, p.Probe.mistakes()...)
	}
	if p.Level != "" && kind == partStudy {
		bad("level: it is for drills and probes, because a study has levels")
	}
	return errs
}

// mistakes are words that no probe knows.
func (p *PartProbe) mistakes() []error {
	var errs []error
	known := func(key, word string, words ...string) {
		if word != "" && !slices.Contains(words, word) {
			errs = append(errs, fmt.Errorf("probe.%s: unknown value %q%s (known: %s)", key, word, nearest.DidYouMean(word, words), strings.Join(words, ", ")))
		}
	}
	known("mode", p.Mode, "direct", "buffered", "mmap")
	for _, word := range p.Profiles {
		known("profiles", word, ProbeRandom, ProbeJournal, ProbeCheckpoint, ProbeSustained)
	}
	for _, word := range p.Operations {
		known("operations", word, "read", "write", "mixed")
	}
	return errs
}
