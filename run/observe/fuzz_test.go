package observe

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// reply is a transport that always returns the same reply.
type reply struct {
	status int
	date   string
	body   []byte
}

func (r reply) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: r.status, Status: http.StatusText(r.status), Header: http.Header{"Date": {r.date}},
		Body: io.NopCloser(bytes.NewReader(r.body))}, nil
}

// No reply of a Prometheus makes lines without bounds, or text with control characters.
func FuzzPrometheus(f *testing.F) {
	f.Add(200, "Mon, 02 Mar 2026 10:00:00 GMT", []byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{`+
		`"__name__":"node_load1","instance":"array:9100"},"values":[[1772445600,"1"],[1772445601.5,"NaN"]]}]}}`))
	f.Add(400, "", []byte(`{"status":"error","error":"parse error \u001b[2J"}`))
	f.Add(200, "x", []byte(`{"status":"success","data":{"result":[{"metric":{"a":"\n","b":"\ud800"},"values":[[1e300,"1e999"],[-1,"-Inf"]]}]}}`))
	f.Add(200, "", []byte(`{"status":"success","data":{"result":[{"values":[[null,null],["1",1]]},{"metric":null,"values":null}]}}`))
	f.Fuzz(func(t *testing.T, status int, date string, body []byte) {
		s := &prometheusServer{base: &url.URL{Scheme: "http", Host: "p:9090"}, http: http.Client{Transport: reply{status, date, body}}}
		q := &prometheus{server: s, name: "q", query: "up", until: time.Now().Add(-3 * time.Second)}
		r, err := q.Look(t.Context())
		var texts []string
		if err != nil {
			texts = append(texts, err.Error())
		}
		values := 0
		for _, o := range r.Others {
			if values = max(values, len(o.Values)); o.Source != "prometheus:q" {
				t.Errorf("the source %q", o.Source)
			}
			for name := range o.Values {
				texts = append(texts, name)
			}
		}
		if values > maxLines {
			t.Errorf("%d lines are recorded", values)
		}
		for _, text := range append(texts, r.Notes...) {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) ||
				len(text) > maxName+500 {
				t.Errorf("%q", text)
			}
		}
	})
}
