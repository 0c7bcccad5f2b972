package record

import (
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// hidden stands where a credential was.
const hidden = redact.Hidden

// redactor keeps credentials out of everything that is written. It removes them from addresses
// wherever these appear, and removes the passwords it knows from every text.
type redactor struct{ known redact.Known }

// learn takes the credentials of a specification into account: of its addresses, wherever they stand, and of its parameters.
func (r *redactor) learn(asked spec.Run) {
	tree, err := treeOf(asked)
	if err != nil {
		return // writing the specification fails for the same reason, and says so
	}
	eachText(tree, "", func(key, text string) {
		r.known.Learn(text)
		if redact.SecretName(key) {
			r.known.Add(text)
		}
	})
}

// text returns s without credentials.
func (r *redactor) text(s string) string { return r.known.Hide(redact.Addresses(s)) }

// source returns the name of a source of samples without credentials; what kind it is stays.
func (r *redactor) source(s string) string {
	kind, name, ok := strings.Cut(s, ":")
	if !ok {
		return redact.Addresses(s)
	}
	return kind + ":" + r.text(name)
}

func (r *redactor) values(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		if out[k] = r.text(v); redact.SecretName(k) && v != "" {
			out[k] = hidden
		}
	}
	return out
}

func (r *redactor) texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = r.text(out[i])
	}
	return out
}

// spec returns a specification without credentials, wherever somebody wrote them.
func (r *redactor) spec(s spec.Run) spec.Run {
	s.Workload.Params, s.Labels = r.values(s.Workload.Params), r.values(s.Labels)
	all := studyRedactor{redactor: *r}
	out, err := redactedCopy(&all, s)
	if err != nil {
		return spec.Run{} // it cannot be written as JSON either
	}
	return out
}

func (r *redactor) target(t Target) Target {
	t.Address, t.Hosts, t.Notes = r.text(t.Address), r.texts(t.Hosts), r.texts(t.Notes)
	t.Settings = r.values(t.Settings)
	return t
}

func (r *redactor) failures(list []measure.FailureCount) []measure.FailureCount {
	out := slices.Clone(list)
	for i := range out {
		out[i].Example = r.text(out[i].Example)
	}
	return out
}

func (r *redactor) event(e measure.Event) measure.Event {
	e.Text, e.Data = r.text(e.Text), r.values(e.Data)
	return e
}

func (r *redactor) findings(list []measure.Finding) []measure.Finding {
	out := append([]measure.Finding{}, list...)
	for i := range out {
		out[i].Text = r.text(out[i].Text)
	}
	return out
}
