package serve

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"time"

	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

//go:embed assets
var assets embed.FS

// frame is the page around its content.
type frame struct {
	Title string
	// Top is true for the page that has no page above it.
	Top   bool
	Entry Entry
	// File is the address of the report as a file.
	File string
	Body template.HTML
	// Events is the address of the changes; Seen is the picture of the page, Final the address after the end.
	Events, Seen, Final string
	// Refresh is after how many seconds a page is loaded again where scripts do not run; with Always, everywhere.
	Refresh int
	Always  bool
	Buttons []button

	Alone bool
	Nonce string
	Style template.HTML
	Code  template.HTML
}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"when": func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.UTC().Format("2006-01-02 15:04:05")
	},
	"sign": func(g report.Grade) string {
		if g == "" {
			return ""
		}
		return report.Point{Grade: g}.Sign()
	},
	"iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}).ParseFS(assets, "assets/*.tmpl"))

func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic("a file of the page was not built in: " + name) // the embed directive above is wrong
	}
	return string(b)
}

// show writes a page. Its style and script are let in by a nonce that no other page has.
func (s *Server) show(w http.ResponseWriter, status int, f frame) {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails, says its documentation
	f.Nonce = base64.RawURLEncoding.EncodeToString(nonce)
	f.Alone = s.o.Alone
	//nolint:gosec // files of this program
	f.Style = template.HTML(`<style nonce="` + f.Nonce + `">` + html.StyleSheet() + asset("serve.css") + `</style>`)
	//nolint:gosec // files of this program
	f.Code = template.HTML(`<script nonce="` + f.Nonce + `">` + html.Script() + "\n" + asset("live.js") + `</script>`)
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "frame", f); err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy(f.Nonce))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}
