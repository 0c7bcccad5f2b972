package record

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Redacted returns the specification as a record keeps it: without credentials.
func (s RunSpec) Redacted() RunSpec {
	var r redactor
	r.learn(s)
	return r.spec(s)
}

// Redacted returns the specification as a study keeps it: without credentials.
func (s StudySpec) Redacted() (StudySpec, error) {
	return redactedCopy(newStudyRedactor(s), s)
}

// HasHidden reports whether credentials were taken out of the specification, so that nothing can be run with it.
func (s StudySpec) HasHidden() bool {
	found := false
	tree, err := treeOf(s)
	if err != nil {
		return false
	}
	eachText(tree, "", func(_, text string) string {
		found = found || strings.Contains(text, ":"+hidden+"@") || strings.Contains(text, "="+hidden) || text == hidden
		return text
	})
	return found
}

// studyRedactor keeps the credentials of a study out of everything that is written of it.
type studyRedactor struct {
	redactor
	sensitive bool // there is something to hide, if only by its name
}

// newStudyRedactor knows the credentials of a study: of its base run and of the levels of its factors.
func newStudyRedactor(s StudySpec) *studyRedactor {
	r := &studyRedactor{}
	r.learn(s.Run)
	for _, f := range s.Factors {
		for _, l := range f.Levels {
			if text, ok := l.Value.(string); ok && secretName(f.Path) {
				r.add(text)
			}
		}
	}
	tree, err := treeOf(s)
	if err != nil {
		return r // writing the specification fails for the same reason, and says so
	}
	eachText(tree, "", func(key, text string) string {
		r.learn(RunSpec{Target: text})
		if secretName(key) && text != "" {
			r.sensitive = true
			r.add(text)
		}
		return text
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
	if r.needed(b) {
		if b, err = r.json(b); err != nil {
			return out, err
		}
	}
	err = json.Unmarshal(b, &out)
	return out, err
}

// needed is a quick look at whether there can be anything to take out.
func (r *studyRedactor) needed(b []byte) bool {
	return r.sensitive || len(r.secrets) > 0 || bytes.Contains(bytes.ToLower(b), []byte("mongodb"))
}

// json takes credentials out of all texts of a JSON document.
func (r *studyRedactor) json(b []byte) ([]byte, error) {
	tree, err := parseTree(b)
	if err != nil {
		return nil, err
	}
	tree = eachText(tree, "", func(key, text string) string {
		if secretName(key) && text != "" {
			return hidden
		}
		return r.text(text)
	})
	return json.Marshal(tree)
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

// eachText replaces every text of a tree by what change makes of it; key is the name under which it stands.
// Names are changed as well: those of factors and configurations may be made of values.
func eachText(v any, key string, change func(key, text string) string) any {
	switch v := v.(type) {
	case string:
		return change(key, v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], key, change)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[change("", k)] = eachText(x, k, change)
		}
		return out
	}
	return v
}
