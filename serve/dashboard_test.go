package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// The dashboard asks for what there is, by the labels that it has.
func TestTheDashboardAsksForWhatThereIs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "docs", "grafana-plimsoll.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil {
		t.Fatal(err)
	}
	var known strings.Builder
	for _, d := range []*prometheus.Desc{operationsDesc, offeredDesc, droppedDesc, workersDesc, inFlightDesc,
		responseDesc} {
		known.WriteString(d.String())
	}
	name := regexp.MustCompile(`plimsoll_\w+`)
	asked := 0
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			for _, n := range name.FindAllString(x.Expr, -1) {
				asked++
				if !strings.Contains(known.String(), `"`+strings.TrimSuffix(n, "_bucket")+`"`) {
					t.Errorf("%s uses %s, which does not exist", x.Expr, n)
				}
			}
		}
	}
	if asked < 8 {
		t.Errorf("only %d metrics are asked for", asked)
	}
}
