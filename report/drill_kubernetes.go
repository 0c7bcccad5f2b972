package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// kubernetesFacts are the deployment and its pods, with a fact for each pod.
func kubernetesFacts(d *record.Drill) (facts []Fact) {
	if len(d.Rounds) == 0 || d.Rounds[0].Kubernetes == nil {
		return nil
	}
	k := d.Rounds[0].Kubernetes
	facts = append(facts, Fact{"Kubernetes", fmt.Sprintf("%s/%s (%s), %s", k.Namespace, k.Name, k.Kind,
		figure.Plural(len(k.Pods), "pod"))})
	for _, p := range k.Pods {
		text := p.Name + " on " + p.Node
		if p.Zone != "" {
			text += " in zone " + p.Zone
		}
		parts := []string{text}
		for _, v := range p.Volumes {
			text := fmt.Sprintf("volume %s of %s", v.Claim, v.Size)
			for _, more := range [][2]string{{"class", v.Class}, {"driver", v.Driver}} {
				if more[1] != "" {
					text += ", " + more[0] + " " + more[1]
				}
			}
			parts = append(parts, text)
		}
		for _, r := range []struct {
			name string
			of   map[string]string
		}{{"requests", p.Requests}, {"limits", p.Limits}} {
			var list []string
			for _, name := range slices.Sorted(maps.Keys(r.of)) {
				list = append(list, name+" "+r.of[name])
			}
			if len(list) > 0 {
				parts = append(parts, r.name+" "+strings.Join(list, ", "))
			}
		}
		facts = append(facts, Fact{"pod", strings.Join(parts, "; ")})
	}
	return facts
}
