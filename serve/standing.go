package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

type drillNow struct{ dir, path string }

var drillTemplate = template.Must(template.New("").Parse(`{{.Text}}{{with .Run}}; <a href="/live/{{.}}">its run</a>{{end}}`))

func (n *drillNow) text() template.HTML {
	s, err := record.ReadStanding(n.dir)
	if err != nil || s == nil || s.Round == 0 {
		return ""
	}
	html.Tidy(s)
	stage := s.Stage()
	say := struct{ Text, Run string }{Text: fmt.Sprintf("round %d of %d: %s, for %s; %s acknowledged, %s not applied, %s indeterminate", s.Round, s.Rounds,
		report.DrillStage(stage.Stage), clock(int64(time.Since(stage.At))), figure.Count(s.Told.Acknowledged),
		figure.Count(s.Told.NotApplied), figure.Count(s.Told.Indeterminate))}
	round := path.Join(record.RoundsDir, strconv.Itoa(s.Round))
	if holds(n.dir, round) {
		say.Run = idOf(path.Join(n.path, round))
	}
	return filled(drillTemplate, say)
}

// holds says whether the record in a directory below another one is being written.
func holds(top, name string) bool {
	dir, err := record.Below(top, name)
	if err != nil {
		return false
	}
	_, held := record.Holder(dir)
	return held
}

type probeNow struct{ dir string }

// lineAtMost is the longest last line of a timeline.
const lineAtMost = 1 << 16

func (n *probeNow) text() template.HTML {
	var x record.ProbeSecond
	if line := lastLine(filepath.Join(n.dir, record.TimelineFile)); line == nil || json.Unmarshal(line, &x) != nil {
		return "Nothing is measured yet."
	}
	seconds := time.Duration(x.Length).Seconds()
	text := fmt.Sprintf("step %d, %s", x.Step+1, clock(x.At+x.Length))
	if seconds > 0 {
		text += fmt.Sprintf(": %s op/s, %s/s", figure.Rate(float64(x.Operations)/seconds), figure.Bytes(int64(float64(x.Bytes)/seconds)))
	}
	if x.P99 > 0 {
		text += fmt.Sprintf("; p50 %s, p99 %s", figure.Duration(time.Duration(x.P50)), figure.Duration(time.Duration(x.P99)))
	}
	return escaped(text)
}

// lastLine returns the last complete line of a growing file, nil if there is none.
func lastLine(name string) []byte {
	f, err := safeopen.Open(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	b := make([]byte, min(info.Size(), lineAtMost))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil {
		return nil
	}
	end := bytes.LastIndexByte(b, '\n')
	if end < 0 {
		return nil
	}
	start := bytes.LastIndexByte(b[:end], '\n') + 1
	if start == 0 && int64(len(b)) < info.Size() {
		return nil // its beginning is further back
	}
	return b[start:end]
}

// stateOfDrill changes with the round of a drill that is under way.
func stateOfDrill(dir string) string {
	s, err := record.ReadStanding(dir)
	if err != nil || s == nil {
		return ""
	}
	stage := s.Stage()
	state := fmt.Sprint(" ", s.Round, stage, len(s.Notes), s.Told)
	round, err := record.Below(dir, record.RoundsDir+"/"+strconv.Itoa(s.Round))
	if err != nil {
		return state
	}
	for _, name := range []string{record.RunFile, record.IntervalsFile, record.EventsFile} {
		state += stateOfFile(round, name)
	}
	return state
}
