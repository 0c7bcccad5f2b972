package serve

import (
	"crypto/rand"
	"embed"
	"encoding/base64"
	"io"
	"net/http"

	"github.com/plimsoll-bench/plimsoll/internal/markup"
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
	Body markup.HTML
	// Events is the address of the changes; Seen is the picture of the page, Final the address after the end.
	Events, Seen, Final string
	// Refresh is after how many seconds a page is loaded again where scripts do not run; with Always, everywhere.
	Refresh int
	Always  bool
	Buttons []button

	Alone bool
}

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
	id := base64.RawURLEncoding.EncodeToString(nonce)
	f.Alone = s.o.Alone
	text := f.framed(id)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy(id))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, string(text)) // the client may be gone
}
