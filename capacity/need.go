package capacity

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Need is the load and data that a deployment must serve.
type Need struct {
	record.SizeNeed
	objectives []measure.Objective
}

// The keys of a need besides objectives.
const (
	needOps      = "ops"
	needData     = "data"
	needCopies   = "copies"
	needFailures = "failures"
	needFree     = "free"
)

var needKeys = []string{needOps, needData, needCopies, needFailures, needFree}

// ParseNeed reads a need, parts separated by commas: ops=50000 (operations per second), data=2TiB (documents, one
// copy), copies=3 (members with each document), failures=1 (nodes that may fail, 1 by default), free=20% (of each disk,
// 20 % by default), and objectives like p99<20ms or update.p99<50ms. At least ops or data is needed.
func ParseNeed(text string) (Need, error) {
	n := Need{SizeNeed: record.SizeNeed{Text: strings.TrimSpace(text), Failures: 1, Free: 0.20}}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if err := n.add(part, seen); err != nil {
			return Need{}, err
		}
	}
	if n.Operations == 0 && n.Data == 0 {
		return Need{}, errors.New("the need has neither operations nor data. Write it like 'ops=50000,p99<20ms,data=2TiB'")
	}
	return n, nil
}

func (n *Need) add(part string, seen map[string]bool) error {
	key, value, setting := strings.Cut(part, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !setting || strings.ContainsAny(key, "<>") || strings.HasPrefix(value, "=") || strings.HasPrefix(value, "<") ||
		strings.HasPrefix(value, ">") {
		return n.addObjective(part)
	}
	if !slices.Contains(needKeys, key) {
		return fmt.Errorf("need %q: unknown key %q%s (known: %s, and objectives like p99<20ms)", part, key, keyHint(key), strings.Join(needKeys, ", "))
	}
	if seen[key] {
		return fmt.Errorf("need %q: %s is given twice", part, key)
	}
	seen[key] = true
	if err := n.set(key, value); err != nil {
		return fmt.Errorf("need %q: %w", part, err)
	}
	return nil
}

func keyHint(key string) string {
	for _, same := range [][2]string{
		{"rate", needOps}, {"operations", needOps}, {"throughput", needOps}, {"ops/s", needOps}, {"size", needData}, {"storage", needData},
		{"replicas", needCopies}, {"replication", needCopies}, {"members", needCopies}, {"headroom", needFree},
	} {
		if key == same[0] {
			return ", did you mean " + same[1] + "?"
		}
	}
	for _, limit := range []string{"<1", "<1s"} {
		if list, err := measure.ParseObjectives(key + limit); err == nil && len(list) == 1 {
			return ", did you mean " + key + "<…?"
		}
	}
	return nearest.DidYouMean(key, needKeys)
}

func (n *Need) set(key, value string) (err error) {
	switch key {
	case needOps:
		var r spec.Rate
		if r, err = spec.ParseRate(value); err == nil && !(r > 0 && float64(r) <= 1e12) {
			err = fmt.Errorf("%s operations per second need no deployment", value)
		}
		n.Operations = float64(r)
	case needData:
		var s spec.Size
		if s, err = spec.ParseSize(value); err == nil && s < 1<<20 {
			err = fmt.Errorf("%d bytes are less than any disk. Did you forget the unit, as in 2TiB?", s)
		}
		if err == nil && s > 1<<57 {
			err = fmt.Errorf("%s is too much. At most 128PiB can be sized", value)
		}
		n.Data = int64(s)
	case needCopies:
		n.Copies, err = whole(value, 1, 50)
	case needFailures:
		n.Failures, err = whole(value, 0, 1000)
	case needFree:
		var s spec.Share
		if s, err = spec.ParseShare(value); err == nil && !(s >= 0 && s <= 0.9) {
			err = fmt.Errorf("%s of each disk cannot stay free. Give a share from 0 to 90%%", value)
		}
		n.Free = float64(s)
	}
	return err
}

func whole(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q is not a whole number from %d to %d", text, low, high)
	}
	return n, nil
}

func (n *Need) addObjective(part string) error {
	name, _, _ := strings.Cut(strings.ReplaceAll(part, ">", "<"), "<")
	if name = strings.TrimSpace(strings.TrimSuffix(name, "=")); slices.Contains(needKeys, name) {
		return fmt.Errorf("need %q: write %s=…, which means at least that", part, name)
	}
	list, err := measure.ParseObjectives(part)
	switch {
	case err != nil:
		return fmt.Errorf("need: %w", err)
	case len(list) != 1:
		return fmt.Errorf("need %q is not of the form key=value or metric<limit", part)
	case list[0].Metric == "rate":
		return fmt.Errorf("need %q: write ops=… for the rate of all operations", part)
	}
	n.objectives = append(n.objectives, list[0])
	n.Objectives = append(n.Objectives, list[0].Text)
	return nil
}
