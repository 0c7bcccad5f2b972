package server

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/reference/samples.md anew")

// samplesHead has the series that are not fields of serverStatus.
const samplesHead = `# Samples

Series of machines, load processes and servers, once a second, in ` + "`samples.ndjson.zst`" + ` of a [record](../records.md#samples).

| source | series | known elsewhere as |
|---|---|---|
| ` + "`host:NAME`" + ` | ` + "`cpu.user`, `.system`, `.iowait`, `.steal`, `.busy`, `.used`; `memory.used`, `.available`" + ` | shares of all processors; busy cores |
| | ` + "`disk.DISK.read_bytes`, `.write_bytes`, `.reads`, `.writes`, `.utilisation`, `.read_await`, `.write_await`" + ` | ` + "`iostat -x`" + ` |
| | ` + "`network.INTERFACE.received`, `.sent`" + ` | |
| | ` + "`pressure.cpu.some`, `pressure.io.some`, `.full`, `pressure.memory.some`, `.full`" + ` | PSI: the share of the time in which tasks waited |
| ` + "`host:LAB/HOST`" + ` | ` + "`cpu.used`, `cpu.throttled`, `memory.resident`, `disk.…`, `network.…`" + ` | cores used, and waited for at the limit |
| ` + "`member:LAB/MEMBER`" + ` | ` + "`replication.lag`, `replication.lag_bytes`" + ` | as the lab measures it |
| ` + "`client`, `service`" + ` | ` + "`cpu.used`, `memory.resident`, `threads`" + ` | load processes; the REST service |
| ` + "`prometheus:NAME`, `csv:NAME`" + ` | one for each line or column | ` + "`--metrics`" + ` |

## Servers

The source is ` + "`server:HOST`" + `. Where servers of different releases have a field at different places, both are listed.

| series | value | field of serverStatus |
|---|---|---|
`

// samplesTail has the series that are calculated from others.
const samplesTail = "| `cache.hit_ratio` | share | 1 − pages read / pages requested |\n" +
	"| `cache.used_share`, `cache.dirty_share` | share | of the maximum |\n" +
	"| `checkpoint.recent` | time | of the last checkpoint |\n" +
	"| `flow_control.writes` | per second | inserts, updates and deletes under flow control |\n" +
	"| `memory.resident` | bytes | `mem.resident` |\n" +
	"| `replication.lag` | time | of a secondary its own; of a primary that of the slowest healthy secondary |\n" +
	"| `tickets.read.exhausted`, `tickets.write.exhausted` | share | of the seconds in which no ticket was free |\n"

// The reference has each field of serverStatus that is sampled: run the test with -update to write it anew.
func TestReferenceOfSamples(t *testing.T) {
	kinds := map[StatisticKind]string{Gauge: "as it is", Counter: "per second", Time: "operations, or share of the time", Mean: "mean time"}
	var rows []string
	for _, s := range statistics {
		var places []string
		for _, f := range s.Terms {
			for _, p := range f {
				place := "`" + strings.Join(p.Path, ".") + "`"
				if p.Since != "" {
					place += " (from " + p.Since + ")"
				}
				places = append(places, place)
			}
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", s.Name, kinds[s.Kind], strings.Join(places, ", ")))
	}
	slices.Sort(rows)
	text := samplesHead + strings.Join(rows, "") + samplesTail
	const page = "../docs/reference/samples.md"
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(have)); diff != "" {
		t.Errorf("%s does not have the series of the code (want -, got +). Write it with: make reference\n%s", page, diff)
	}
}
