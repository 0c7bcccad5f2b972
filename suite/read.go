package suite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Folder is a suite with everything that its files say.
type Folder struct {
	Dir    string
	Spec   spec.Suite
	Pieces []Piece
}

// Piece is a part after each: one thing to do, as its file says it, unscaled.
type Piece struct {
	Name string
	Spec spec.Part
	// Set are the values by key of what the part is repeated for.
	Set map[string]any
	// One of these is there.
	Study *spec.Study
	Drill *spec.Drill
	Probe *spec.PartProbe
}

// Open reads the suite of a folder and checks it with all its files. The error has a line per mistake, which names the
// part and the key.
func Open(dir string) (Folder, error) {
	f := Folder{Dir: filepath.Clean(dir)}
	file, err := safeopen.OpenFile(filepath.Join(dir, File))
	if err != nil {
		return f, fmt.Errorf("cannot read the suite: %w", err)
	}
	defer file.Close()
	if f.Spec, err = spec.ReadSuite(file); err != nil {
		return f, fmt.Errorf("%s: %w", file.Name(), err)
	}
	if f.Spec.Name == "" {
		if abs, err := filepath.Abs(dir); err == nil {
			f.Spec.Name = filepath.Base(abs)
		}
	}
	err = errors.Join(f.Spec.Validate(), checkShows(f.Spec))
	if err == nil {
		err = f.pieces()
	}
	if err != nil {
		return f, before(file.Name(), err)
	}
	return f, nil
}

// checkShows checks that the document and what parts show of it exist.
func checkShows(asked spec.Suite) error {
	if asked.Published == "" {
		for i, p := range asked.Parts {
			if len(p.Shows) > 0 {
				return fmt.Errorf("part %d (%s): shows: the suite names no document (published)", i+1, p.NameOf())
			}
		}
		return nil
	}
	if _, _, err := published.Select(asked.Published); err != nil {
		return fmt.Errorf("published: %w", err)
	}
	var errs []error
	for i, p := range asked.Parts {
		for _, id := range p.Shows {
			if _, _, err := published.Select(asked.Published + "/" + id); err != nil {
				errs = append(errs, fmt.Errorf("part %d (%s): shows: %w", i+1, p.NameOf(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// pieces reads the files of all parts.
func (f *Folder) pieces() error {
	var errs []error
	seen := map[string]bool{}
	for i, p := range f.Spec.Parts {
		list, err := f.part(p)
		if err != nil {
			errs = append(errs, before(fmt.Sprintf("part %d (%s)", i+1, p.NameOf()), err))
			continue
		}
		if len(f.Pieces)+len(list) > mostParts {
			return errors.Join(append(errs, fmt.Errorf("part %d (%s): the suite has more than %d parts, counting each combination of values",
				i+1, p.NameOf(), mostParts))...)
		}
		for _, piece := range list {
			if seen[piece.Name] {
				errs = append(errs, fmt.Errorf("part %d (%s): two parts have the name %s. Rename one of them", i+1, p.NameOf(), piece.Name))
			}
			seen[piece.Name] = true
		}
		f.Pieces = append(f.Pieces, list...)
	}
	return errors.Join(errs...)
}

// part reads the file of a part and repeats it for each value.
func (f *Folder) part(p spec.Part) ([]Piece, error) {
	base := Piece{Name: p.NameOf(), Spec: p, Probe: p.Probe}
	switch p.Kind() {
	case record.KindStudy:
		asked, err := readFile(f, "study", p.Study, spec.ReadStudy)
		if err != nil {
			return nil, err
		}
		if asked.Platform != "" && !filepath.IsAbs(asked.Platform) {
			if asked.Platform, err = filepath.Abs(filepath.Join(f.Dir, filepath.Dir(p.Study), asked.Platform)); err != nil {
				return nil, err
			}
		}
		if len(p.Gives) > 0 && asked.Procedures == nil {
			return nil, fmt.Errorf("gives: %s has no procedures, so it has nothing to give", p.Study)
		}
		base.Study = &asked
	case record.KindDrill:
		asked, err := readFile(f, "drill", p.Drill, spec.ReadDrill)
		if err != nil {
			return nil, err
		}
		base.Drill = &asked
	}
	if n := times(p.Each); n > mostParts {
		return nil, fmt.Errorf("each: more than %d combinations of values. Remove some, or write separate parts", mostParts)
	}
	var list []Piece
	for _, set := range combinations(p.Each) {
		piece, err := base.with(set)
		if err != nil {
			return nil, fmt.Errorf("each: %w", err)
		}
		if len(piece.Name) > longestName {
			return nil, fmt.Errorf("each: the name %s… is longer than %d characters, but a directory gets this name. Give the part a shorter name, or "+
				"shorter values", piece.Name[:longestName/2], longestName)
		}
		list = append(list, piece)
	}
	return list, nil
}

// The limits of a suite. No file system takes longer names.
const (
	mostParts   = 1000
	longestName = 200
)

// times returns the number of runs of a part for its values, or more than allowed.
func times(each map[string][]any) int {
	n := 1
	for _, values := range each {
		if n *= max(1, len(values)); n > mostParts {
			return n
		}
	}
	return n
}

// readFile reads the file of a part, which is below the folder or in one beside it.
func readFile[T any](f *Folder, key, name string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	clean := path.Clean(filepath.ToSlash(name))
	if path.IsAbs(clean) || filepath.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../..") {
		return none, fmt.Errorf("%s: %s is outside of the suite's folder and its neighbours, so it would be missing elsewhere. Move it there", key, name)
	}
	file, err := safeopen.OpenFile(filepath.Join(f.Dir, filepath.FromSlash(clean)))
	if errors.Is(err, fs.ErrNotExist) {
		return none, fmt.Errorf("%s: there is no file %s", key, filepath.Join(f.Dir, name))
	}
	if errors.Is(err, safeopen.ErrNotRegular) {
		return none, fmt.Errorf("%s: %s is not a file. Write the name of a file", key, name)
	}
	if err != nil {
		return none, fmt.Errorf("%s: %w", key, err)
	}
	defer file.Close()
	spec, err := read(file)
	if err != nil {
		return none, fmt.Errorf("%s: %s: %w", key, name, err)
	}
	return spec, nil
}

// combinations lists all combinations of values, those of the last key changing fastest; one without any if there are
// no keys.
func combinations(each map[string][]any) []map[string]any {
	list := []map[string]any{nil}
	for _, key := range slices.Sorted(maps.Keys(each)) {
		var longer []map[string]any
		for _, have := range list {
			for _, value := range each[key] {
				set := map[string]any{key: value}
				maps.Copy(set, have)
				longer = append(longer, set)
			}
		}
		list = longer
	}
	return list
}

var notInNames = expression.New(`[^A-Za-z0-9._-]+`)

// with is a copy of a part in which keys of its run are set.
func (p Piece) with(set map[string]any) (Piece, error) {
	if len(set) == 0 {
		return p, nil
	}
	p.Set = set
	suffix := ""
	for _, key := range slices.Sorted(maps.Keys(set)) {
		suffix += "-" + notInNames().ReplaceAllString(fmt.Sprint(set[key]), "-")
	}
	p.Name += suffix
	var run *spec.Run
	var name *string
	switch {
	case p.Study != nil:
		asked := *p.Study
		p.Study, run, name = &asked, &asked.Run, &asked.Name
	case p.Drill != nil:
		asked := *p.Drill
		p.Drill, run, name = &asked, &asked.Run, &asked.Name
	default:
		return p, nil
	}
	if *name != "" {
		*name += suffix
	}
	var err error
	*run, err = study.Apply(*run, set)
	return p, err
}
