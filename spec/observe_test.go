package spec

import (
	"strings"
	"testing"
	"time"
)

func TestMetrics(t *testing.T) {
	var o Observe
	for _, text := range []string{"prom:http://h:9090?credentials=env:PROM&query=rate(x{a=\"b\"}[1m]) + 1",
		"prom:http://h:9090?credentials=env:PROM&query=up",
		"csv:array.csv", "csv:b.csv?offset=-1.5s"} {
		if err := o.AddMetrics(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	ahead, err := o.CSV[1].Ahead()
	if len(o.Prometheus.Queries) != 2 || o.Prometheus.Credentials != "env:PROM" ||
		o.Prometheus.Queries[`rate(x{a="b"}[1m]) + 1`] == "" ||
		ahead != -1500*time.Millisecond || err != nil {
		t.Errorf("%+v, %v, %v", o, ahead, err)
	}
	for text, want := range map[string]string{
		"prom:http://u:p@h:9090?query=up": "other users of this machine can read command lines",
		"x":                               "neither with prom:", "prom:http://h": "no query", "prom:http://h?query=": "no expression", "prom:ftp://h?query=up": "not the address",
		"csv:": "has no name", "csv:a?offset=x": "offset of a", "csv:http://u:p@h/x": "not an address",
	} {
		err := (&Observe{}).AddMetrics(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") ||
			strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := o.AddMetrics("prom:http://other?query=up"); err == nil || !strings.Contains(err.Error(), "one Prometheus") {
		t.Errorf("two servers: %v", err)
	}
	asked, err := ReadRun(strings.NewReader("observe:\n  prometheus: {url: http://h:9090, queries: {array: up}}\n  csv: [{file: a.csv, offset: 2s}]\n  skip_diagnostic_data: true\n"))
	if err != nil || asked.Complete() != nil || asked.Observe.Prometheus.Queries["array"] != "up" ||
		!asked.Observe.SkipDiagnosticData {
		t.Errorf("%+v, %v", asked.Observe, err)
	}
}
