package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
	"github.com/plimsoll-bench/plimsoll/internal/finite"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// hidden replaces a credential.
const hidden = redact.Hidden

// redactor keeps credentials out of everything that is written. It removes them from addresses wherever these appear,
// and removes those that it knows from every text. The zero value knows none. Any goroutine may use it.
type redactor struct {
	mu    sync.Mutex
	known redact.Known
}

// learn takes the credentials of a specification or of an address into account: those in addresses, wherever they
// stand, and what has the name of a credential.
func (r *redactor) learn(asked any) {
	tree, err := treeOf(asked)
	if err != nil {
		return // writing the specification fails with the same error
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	eachText(tree, "", func(key, text string) {
		r.known.Learn(text)
		if redact.SecretName(key) {
			r.known.Add(text)
		}
	})
	d, _ := asked.(spec.Drill)
	for _, f := range d.Faults {
		if f.Exec != nil {
			r.known.LearnCommand(f.Exec.Inject)
			r.known.LearnCommand(f.Exec.Heal)
			r.known.LearnCommand(f.Exec.Witness)
		}
	}
	s, _ := asked.(spec.Study)
	for _, f := range s.Factors {
		for _, l := range f.Levels {
			if text, ok := l.Value.(string); ok && redact.SecretName(f.Path) {
				r.known.Add(text)
			}
		}
	}
}

func (r *redactor) add(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.Add(secret)
}

// text returns s without credentials.
func (r *redactor) text(s string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known.Hide(redact.Addresses(s))
}

// source returns the name of a source of samples without credentials; what kind it is stays.
func (r *redactor) source(s string) string {
	kind, name, ok := strings.Cut(s, ":")
	if !ok {
		return redact.Addresses(s)
	}
	return kind + ":" + r.text(name)
}

// failures is [redacted] for the failures of an interval.
func (r *redactor) failures(list []measure.FailureCount) []measure.FailureCount {
	out := slices.Clone(list)
	for i := range out {
		out[i].Example = r.text(out[i].Example)
	}
	return out
}

// redacted returns a deep copy of a value without credentials in any of its texts, and without numbers that JSON has
// not.
func redacted[T any](r *redactor, v T) T {
	v, _ = written(r, v)
	return v
}

// written is [redacted], with the places of the numbers that are not in the copy.
func written[T any](r *redactor, v T) (T, []string) {
	v = deep.Copy(v)
	r.clean(reflect.ValueOf(&v).Elem(), place{})
	return v, finite.Clean(&v)
}

// Redacted returns a copy of what is shown of a specification, or of the specification itself, as a record keeps it:
// without its credentials.
func Redacted[T any](v T, asked any) T {
	var r redactor
	r.learn(asked)
	return redacted(&r, v)
}

// HasHidden reports whether credentials were taken out of a specification, so that nothing can be run with it.
func HasHidden(s spec.Study) bool {
	found := false
	tree, err := treeOf(s)
	if err != nil {
		return false
	}
	eachText(tree, "", func(_, text string) {
		found = found || strings.Contains(text, ":"+hidden) || strings.Contains(text, "="+hidden) || text == hidden
	})
	return found
}

func treeOf(v any) (tree any, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // numbers must come out as they went in
	err = d.Decode(&tree)
	return tree, err
}

// eachText visits every text of a tree, including names, with its name.
func eachText(v any, key string, show func(key, text string)) {
	switch v := v.(type) {
	case string:
		show(key, v)
	case []any:
		for _, x := range v {
			eachText(x, key, show)
		}
	case map[string]any:
		for k, x := range v {
			show("", k)
			eachText(x, k, show)
		}
	}
}
