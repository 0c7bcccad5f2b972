package spec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// How levels are combined, and trials ordered.
const (
	CombineOneAtATime = "one-at-a-time"
	CombineGrid       = "grid"
	CombineFraction   = "fraction"
	OrderBlocks       = "blocks"
	OrderBatched      = "batched"
)

// The limits of a study. A larger plan is a mistake, and would take years.
const (
	maxTrials  = 10_000
	maxFactors = 64
	maxLevels  = 10_000
	maxSettle  = Duration(24 * 3600e9)
)

// Complete fills in the defaults and checks the result; see [Run.Complete]. Run and Lab stay as they are: the levels of
// factors are applied to them first, and each of the runs and labs that come of it is completed then.
func (s *Study) Complete() error {
	s.Defaults()
	return s.Validate()
}

// Defaults fills in missing values except those of Run and Lab. The defaults of a run depend on the levels, which are
// applied first.
func (s *Study) Defaults() {
	def(&s.Name, "study")
	def(&s.Combine, CombineOneAtATime) // each difference has one cause
	if len(s.Factors) > 0 || s.Procedures == nil {
		if s.UntilDecided {
			def(&s.Trials, 32) // the fourth look; what it cannot tell, many more could not
		}
		def(&s.Trials, 6) // from 6 on a median has a 95 % interval; fewer trials cannot tell much
	}
	def(&s.Seed, 1)            // the same order again
	def(&s.Order, OrderBlocks) // drift is then not mistaken for an effect
	def(&s.Margin, 0.03)       // differences below 3 % seldom change a decision
	def(&s.Confidence, 0.95)   // the usual level
	for i := range s.Factors {
		s.Factors[i].defaults()
	}
	s.labDefaults()
	if s.Procedures != nil {
		s.Procedures.defaults()
	}
}

func (f *Factor) defaults() {
	if f.Name == "" {
		f.Name = f.Path[strings.LastIndexByte(f.Path, '.')+1:]
		if of, ok := strings.CutSuffix(f.Path, ".name"); ok {
			f.Name = of[strings.LastIndexByte(of, '.')+1:] // the durability, the workload: "name" says nothing
		}
	}
	for i := range f.Levels {
		if l := &f.Levels[i]; l.Name == "" {
			l.Name = levelName(l.Value)
		}
	}
}

// levelName makes a name of a value: its text without credentials and separators. Lists and mappings have none.
func levelName(value any) string {
	switch v := value.(type) {
	case string:
		text := redact.Addresses(strings.TrimSpace(v))
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(separators, r) || r < ' ' {
				return '_'
			}
			return r
		}, strings.ToValidUTF8(text[:min(len(text), maxName)], ""))
	case bool, int, float64:
		return fmt.Sprint(v)
	}
	return ""
}

// separators stand between names in the IDs of configurations.
const separators = ",="

// maxName is the longest name of a factor or level: tables must stay readable.
const maxName = 80

// FirstLook is the number of blocks after which a study until decided is judged for the first time.
const FirstLook = 4

// BatchOf names the batch of levels: those of the factors that are expensive to change. In blocks there is one batch.
func (s *Study) BatchOf(levels map[string]string) string {
	var names []string
	for _, f := range s.Batch {
		names = append(names, f+"="+levels[f])
	}
	return strings.Join(names, ",")
}

// Validate checks a study with its defaults. The planner checks the paths of factors; see [Study.Complete].
func (s *Study) Validate() error {
	errs := []error{
		plainName("name", s.Name), directory("out", s.Out), s.checkWithout(),
		s.checkAnything(), s.checkRun(),
		oneOf("combine", s.Combine, CombineOneAtATime, CombineGrid, CombineFraction),
		oneOf("order", s.Order, OrderBlocks, OrderBatched),
		s.checkCombine(), s.checkTrials(), s.checkBatch(),
		between("canary", float64(s.Canary), -1, maxTrials),
		between("margin", float64(s.Margin), 0, 0.5),
		between("confidence", float64(s.Confidence), 0.5, 0.9999),
		notNegative("settle", s.Settle), notNegative("deadline", s.Deadline), notNegative("budget", s.Budget),
		s.checkObjectives(), s.checkFactors(), s.checkLab(),
	}
	if s.Settle > maxSettle {
		errs = append(errs, fmt.Errorf("settle: %v is longer than a day", s.Settle))
	}
	for _, m := range s.Metrics {
		if strings.TrimSpace(m) == "" {
			errs = append(errs, errors.New("metrics: one of them is empty"))
		}
	}
	if s.Procedures != nil {
		errs = append(errs, s.Procedures.validate(len(s.Objectives)+len(s.Run.Objectives) > 0))
	}
	return errors.Join(errs...)
}

// checkAnything refuses an empty file, because nobody means a study of defaults.
func (s *Study) checkAnything() error {
	if len(s.Factors) > 0 || s.Procedures != nil || !reflect.ValueOf(s.Run).IsZero() {
		return nil
	}
	return errors.New("there is nothing to do. Add a run, factors or procedures (plimsoll study init writes a study with every key explained)")
}

// checkRun refuses keys of the base run that the study sets. The rest is checked with the levels applied.
func (s *Study) checkRun() error {
	var errs []error
	if s.Run.Out != "" {
		errs = append(errs, errors.New("run.out: the records of the trials are below the directory of the study. Set out instead"))
	}
	if s.Reload && s.Run.LoadPhase.Skip {
		errs = append(errs, errors.New("reload and run.load_phase.skip exclude each other. Data are either loaded before every trial or taken as they are"))
	}
	if s.Procedures != nil && len(s.Run.Load.Stages) > 0 {
		errs = append(errs, errors.New("run.load.stages: procedures need a load without stages. Remove them"))
	}
	if s.Lab != nil {
		errs = append(errs, s.Lab.loadable())
	}
	if s.Lab != nil && s.Run.Target != LabTarget(s.Lab.Name) {
		errs = append(errs, fmt.Errorf("run.target: the study starts the lab %s and loads it. Remove the target, or remove lab to load an "+
			"existing target", s.Lab.Name))
	}
	if s.Run.LoadPhase.Only {
		errs = append(errs, errors.New("run.load_phase.only: a trial would end after loading and measure nothing. Remove it"))
	}
	return errors.Join(errs...)
}

func (s *Study) checkCombine() error {
	switch {
	case s.Combine == CombineFraction && s.Fraction < 1:
		return errors.New("fraction: combine: fraction needs the number of configurations. Set fraction")
	case s.Combine != CombineFraction && s.Fraction != 0:
		return fmt.Errorf("fraction: it has no effect with combine: %s. Set combine: fraction", s.Combine)
	}
	return between("fraction", float64(s.Fraction), 0, maxTrials)
}

func (s *Study) checkTrials() error {
	if s.Trials == 0 && len(s.Factors) == 0 && s.Procedures != nil {
		return nil // only the procedures
	}
	return between("trials", float64(s.Trials), 1, maxTrials)
}

func (s *Study) checkBatch() error {
	if s.UntilDecided && (s.Order != OrderBlocks || len(s.Factors) == 0) {
		return errors.New("until_decided: it needs factors, and order: blocks, because only configurations that alternate have " +
			"verdicts. Add factors, and remove order and batch")
	}
	if s.Order != OrderBatched && len(s.Batch) > 0 {
		return errors.New("batch: it has no effect with order: blocks. Set order: batched")
	}
	if s.Order == OrderBatched && len(s.Batch) == 0 {
		return errors.New("batch: order: batched needs the names of the factors that are expensive to change. Set batch")
	}
	var names []string
	for _, f := range s.Factors {
		names = append(names, f.Name)
	}
	for _, b := range s.Batch {
		if !slices.Contains(names, b) {
			return fmt.Errorf("batch: unknown factor %q%s (factors: %s)", b, nearest.DidYouMean(b, names), strings.Join(names, ", "))
		}
	}
	return nil
}

func (s *Study) checkObjectives() error {
	if _, err := measure.ParseObjectives(strings.Join(s.Objectives, ",")); err != nil {
		return fmt.Errorf("objectives: %w", err)
	}
	return nil
}

func (s *Study) checkFactors() error {
	if len(s.Factors) > maxFactors {
		return fmt.Errorf("factors: %d are more than the limit of %d", len(s.Factors), maxFactors)
	}
	var errs []error
	seen := map[string]bool{}
	for i, f := range s.Factors {
		at := fmt.Sprintf("factors[%d]", i+1)
		if f.Name != "" {
			at = fmt.Sprintf("factor %q", f.Name)
		}
		if seen[f.Name] {
			errs = append(errs, fmt.Errorf("%s: another factor has this name. Rename one", at))
		}
		seen[f.Name] = true
		if err := f.validate(); err != nil {
			errs = append(errs, indent(at, err))
		}
	}
	return errors.Join(errs...)
}

// indent puts a place in front of each line of an error.
func indent(at string, err error) error {
	var errs []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		errs = append(errs, fmt.Errorf("%s: %s", at, line))
	}
	return errors.Join(errs...)
}

func (f *Factor) validate() error {
	var errs []error
	if f.Name == "" {
		errs = append(errs, errors.New("it needs a path, or a name and levels with set"))
	}
	errs = append(errs, plainName("name", f.Name))
	switch {
	case len(f.Levels) < 2:
		errs = append(errs, fmt.Errorf("it needs two or more levels and has %d", len(f.Levels)))
	case len(f.Levels) > maxLevels:
		errs = append(errs, fmt.Errorf("it has %d levels; the limit is %d", len(f.Levels), maxLevels))
	}
	seen, baselines := map[string]bool{}, 0
	for i, l := range f.Levels {
		if l.Baseline {
			baselines++
		}
		at := fmt.Sprintf("level %d", i+1)
		if l.Name != "" {
			at = fmt.Sprintf("level %q", l.Name)
			if seen[l.Name] {
				errs = append(errs, fmt.Errorf("%s: another level has this name", at))
			}
			seen[l.Name] = true
		}
		if err := l.validate(f.Path); err != nil {
			errs = append(errs, indent(at, err))
		}
	}
	if baselines > 1 {
		errs = append(errs, fmt.Errorf("%d levels are marked as the baseline. Mark one", baselines))
	}
	return errors.Join(errs...)
}

func (l *Level) validate(path string) error {
	switch {
	case l.Value == nil && l.Set == nil:
		return errors.New("it needs a value, or keys below set")
	case l.Value != nil && l.Set != nil:
		return errors.New("value and set exclude each other. Put the value below set, with its path")
	case l.Value != nil && path == "":
		return errors.New("its value needs a path. Set the path of the factor")
	case l.Set != nil && len(l.Set) == 0:
		return errors.New("set is empty")
	case l.Name == "":
		return errors.New("it needs a name, because its value cannot be one")
	}
	return plainName("name", l.Name)
}

// plainName refuses names that do not fit into the ID of a configuration or a table.
func plainName(key, name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("%s: %q… is longer than %d characters", key, name[:20], maxName)
	case strings.ContainsAny(name, separators):
		return fmt.Errorf("%s: %q contains one of %s, which separate names", key, name, strings.Join(strings.Split(separators, ""), " "))
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%s: %q contains a control character", key, name)
	}
	return nil
}
