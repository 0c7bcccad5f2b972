package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// RedactedRun returns a specification of a run as a record keeps it: without credentials.
func RedactedRun(s spec.Run) spec.Run {
	var r redactor
	r.learn(s)
	return r.spec(s)
}

// RedactedStudy returns a specification of a study as its record keeps it: without credentials.
func RedactedStudy(s spec.Study) (spec.Study, error) {
	return redactedCopy(newStudyRedactor(s), s)
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

// studyRedactor keeps the credentials of a study out of everything that is written of it.
type studyRedactor struct {
	redactor
	sensitive bool // there is something to hide, if only by its name
}

// newStudyRedactor knows the credentials of a study: of its base run and of the levels of its factors.
func newStudyRedactor(s spec.Study) *studyRedactor {
	r := &studyRedactor{}
	r.learn(s.Run)
	for _, f := range s.Factors {
		for _, l := range f.Levels {
			if text, ok := l.Value.(string); ok && redact.SecretName(f.Path) {
				r.known.Add(text)
			}
		}
	}
	tree, err := treeOf(s)
	if err != nil {
		return r // writing the specification fails for the same reason, and says so
	}
	eachText(tree, "", func(key, text string) {
		r.known.Learn(text)
		if redact.SecretName(key) && text != "" {
			r.sensitive = true
			r.known.Add(text)
		}
	})
	return r
}

// redactedCopy returns a copy of a value without credentials in any of its texts.
func redactedCopy[T any](r *studyRedactor, v T) (T, error) {
	var out T
	b, err := json.Marshal(v)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, err
	}
	if r.needed(b) {
		r.clean(reflect.ValueOf(&out).Elem(), place{})
	}
	return out, nil
}

// needed is a quick look at whether there can be anything to take out.
func (r *studyRedactor) needed(b []byte) bool {
	return r.sensitive || !r.known.Empty() || bytes.Contains(b, []byte("@")) || bytes.Contains(bytes.ToLower(b), []byte("mongodb"))
}

func treeOf(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return parseTree(b)
}

func parseTree(b []byte) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // numbers must come out as they went in
	err = d.Decode(&tree)
	return tree, err
}

// eachText shows every text of a tree, names included, with the name under which it stands.
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
