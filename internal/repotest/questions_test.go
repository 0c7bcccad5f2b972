package repotest

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// queries are the commands that query the properties of a server. Only package server sends them.
var queries = []string{
	`"buildInfo"`, `"hello"`, `"isMaster"`, `"getParameter"`, `"getCmdLineOpts"`, `"hostInfo"`, `"serverStatus"`,
	`"replSetGetStatus"`, `"replSetGetConfig"`, `"getDefaultRWConcern"`, `"listShards"`, `"getDiagnosticData"`,
}

// queriesSent lists where a file composes one of these commands, as {Key: "hello", Value: 1}.
func queriesSent(s source) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		name, isName := pair.Key.(*ast.Ident)
		text, isText := pair.Value.(*ast.BasicLit)
		if isName && isText && name.Name == "Key" && slices.Contains(queries, text.Value) {
			found = append(found, fmt.Sprintf("%s sends %s to a server", s.at(pair.Pos()), text.Value))
		}
		return true
	})
	return found
}

func TestServersAreQueriedInOnePackage(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() || s.room() == "server" {
			continue
		}
		for _, sent := range queriesSent(s) {
			t.Errorf("%s: use package server, so that all packages have the same answer", sent)
		}
	}
}

func TestQueriesAreFound(t *testing.T) {
	s := parse(t, "run/a.go", `package run
var a = bson.D{{Key: "replSetGetStatus", Value: 1}, {Key: "hello", Value: "hostInfo"}}
`)
	if got := queriesSent(s); len(got) != 2 {
		t.Errorf("found %q, want two queries", got)
	}
}
