package serve

import "net/http"

type meters struct{}

func newMeters(*Server) *meters { return &meters{} }

func (m *meters) handler() http.Handler { return http.NotFoundHandler() }
