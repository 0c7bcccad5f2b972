package recorded

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// File makes a workload file of a model. It leaves out what Plimsoll itself would refuse to read, such as operations
// on collections with impossible names in a forged log, and says so in the file. operations has, for each shape in the
// file, the number of its operation.
func (m *Model) File(src Source) (f own.File, operations map[string]int, err error) {
	limits := limits{operations: mostOperations}
	for {
		f, operations = m.file(src, limits)
		switch err = usable(f); {
		case err == nil:
			return f, operations, nil
		case errors.Is(err, errLong) && limits.operations > 1:
			limits.operations /= 2
		case errors.As(err, new(*own.SizeError)) && limits.length != 1:
			limits.length = cmp.Or(limits.length, 1<<22) / 4
		case !limits.single:
			limits.single = true
		default:
			return f, nil, fmt.Errorf("the recorded operations cannot be written as a workload file: %w", err)
		}
	}
}

// limits bound a file.
type limits struct {
	operations int
	length     int64 // of texts and arrays whose mean is not above it; 0 for none
	single     bool  // try collections and operations one by one, and leave out what cannot be used
}

var errLong = errors.New("the workload file is too long")

// usable reports whether Plimsoll reads the text of a file and compiles it.
func usable(f own.File) error {
	text, err := Text(f)
	if err != nil {
		return err
	}
	if len(text) > spec.MaxBytes {
		return errLong
	}
	again, err := own.Read(bytes.NewReader(text))
	if err == nil {
		_, err = own.Compile(again, workload.Spec{Seed: 1, Clients: 1})
	}
	return err
}

// Text is a workload file with comments at its top that say what is missing in it.
func Text(f own.File) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by 'plimsoll workload record'. What the recording could not see:\n")
	if f.Recorded == nil || len(f.Recorded.Unseen) == 0 {
		b.WriteString("#   nothing that is known\n")
	} else {
		for _, u := range f.Recorded.Unseen {
			b.WriteString("# - " + strings.Join(strings.Fields(visible.Line(u)), " ") + "\n")
		}
	}
	err := own.Encode(&b, f)
	return b.Bytes(), err
}

// keepUsable removes the collections and operations that cannot be compiled, each by itself, and renumbers the rest.
// It returns the names of the collections and the shapes of the operations that it removed.
func keepUsable(f *own.File, operations map[string]int) (collections []string, shapes map[string]bool) {
	empty := func(c own.Collection) own.Collection {
		return own.Collection{Name: c.Name, Count: max(c.Count, 1), Document: own.TemplateOf(bson.D{})}
	}
	alone := own.File{Name: "x", Collections: []own.Collection{{Name: "x", Count: 1, Document: own.TemplateOf(bson.D{})}},
		Operations: []own.Operation{{Find: "x", Weight: 1}}}
	var kept []own.Collection
	for _, c := range f.Collections {
		one := alone
		one.Collections = append(one.Collections[:1:1], empty(c))
		if usable(one) != nil {
			collections = append(collections, c.Name)
			continue
		}
		kept = append(kept, c)
	}
	others := alone // what templates refer to
	for _, c := range kept {
		others.Collections = append(others.Collections, empty(c))
	}
	for i, c := range kept {
		one := others
		one.Collections = append([]own.Collection(nil), others.Collections...)
		one.Collections[i+1] = c
		if usable(one) != nil {
			collections = append(collections, c.Name)
			kept[i] = empty(c)
		}
	}
	f.Collections = kept
	whole := alone
	whole.Collections = append(whole.Collections, kept...)
	numbers := make([]int, len(f.Operations))
	var list []own.Operation
	for i, o := range f.Operations {
		one := whole
		one.Operations = append(one.Operations[:1:1], o)
		if numbers[i] = -1; usable(one) == nil {
			numbers[i] = len(list)
			list = append(list, o)
		}
	}
	f.Operations = list
	shapes = map[string]bool{}
	for key, n := range operations {
		if operations[key] = numbers[n]; numbers[n] < 0 {
			delete(operations, key)
			shapes[key] = true
		}
	}
	return collections, shapes
}
