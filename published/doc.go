// Package published has the figures of five public documents about MongoDB and storage, each as written and with its
// place: text, table or printed output. Values that are only drawn in a picture are not included. Nothing is estimated
// from pictures and nothing is corrected: if a document contradicts itself, both statements are kept with a
// [Contradiction].
//
// Throughput is in operations per second, times are in milliseconds, outages in seconds. Figures of different machines
// are never compared directly: [Sweep.Ratio] relates each figure to the document's own baseline, and a measurement is
// shown as the ratio to its own baseline.
//
// The data are the YAML files in data/, one for each document.
package published

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"go.yaml.in/yaml/v4"
)

//go:embed data/*.yaml
var files embed.FS

// names are the documents in the order of lists. Each is also the name of a folder in examples/.
var names = []string{"policy-storage", "write-concern", "ssd-vs-disk", "failover", "storage-io"}

// load reads all documents once.
var load = sync.OnceValues(func() ([]*Source, error) {
	var all []*Source
	for _, name := range names {
		data, err := files.ReadFile("data/" + name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("published: %w", err)
		}
		source, err := read(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("published: data/%s.yaml: %w", name, err)
		}
		all = append(all, source)
	}
	return all, nil
})

// Documents returns all documents in a fixed order. They are shared: do not change them.
func Documents() ([]*Source, error) { return load() }

// Document finds a document by its name.
func Document(name string) (*Source, error) {
	all, err := load()
	if err != nil {
		return nil, err
	}
	if i := slices.Index(names, name); i >= 0 {
		return all[i], nil
	}
	return nil, fmt.Errorf("there is no published document %q%s (there are %s)", name, nearest.DidYouMean(name, names), strings.Join(names, ", "))
}

// Select finds the sweeps of a study's key published: "policy-storage" is the whole document, "policy-storage/figure-2"
// one sweep by its ID or all of an item, "policy-storage/figure-2,figure-3" several.
func Select(ref string) (*Source, []*Sweep, error) {
	name, rest, several := strings.Cut(ref, "/")
	source, err := Document(name)
	if err != nil {
		return nil, nil, err
	}
	if !several {
		return source, slices.Clone(source.Sweeps), nil
	}
	var chosen []*Sweep
	for id := range strings.SplitSeq(rest, ",") {
		found := source.Figure(strings.TrimSpace(id))
		if len(found) == 0 {
			var ids []string
			for _, sweep := range source.Sweeps {
				ids = append(ids, sweep.ID)
			}
			return nil, nil, fmt.Errorf("%s has no sweep %q (it has %s)", name, id, strings.Join(ids, ", "))
		}
		chosen = append(chosen, found...)
	}
	return source, chosen, nil
}

// read reads one document. An unknown key is an error.
func read(r io.Reader) (*Source, error) {
	decoder := yaml.NewDecoder(r)
	decoder.KnownFields(true)
	source := &Source{}
	if err := decoder.Decode(source); err != nil {
		return nil, err
	}
	return source, source.complete()
}
