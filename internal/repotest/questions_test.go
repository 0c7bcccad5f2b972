package repotest

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// questions are the commands by which a server is asked what it is. Package server sends them and reads the answers.
var questions = []string{
	`"buildInfo"`, `"hello"`, `"isMaster"`, `"getParameter"`, `"getCmdLineOpts"`, `"hostInfo"`, `"serverStatus"`,
	`"replSetGetStatus"`, `"replSetGetConfig"`, `"getDefaultRWConcern"`, `"listShards"`, `"getDiagnosticData"`,
}

// questionsAsked lists where a file puts one of these commands together, as {Key: "hello", Value: 1}.
func questionsAsked(s source) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		name, isName := pair.Key.(*ast.Ident)
		text, isText := pair.Value.(*ast.BasicLit)
		if isName && isText && name.Name == "Key" && slices.Contains(questions, text.Value) {
			found = append(found, fmt.Sprintf("%s asks a server %s", s.at(pair.Pos()), text.Value))
		}
		return true
	})
	return found
}

func TestServersAreAskedInOneRoom(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() || s.room() == "server" {
			continue
		}
		for _, asked := range questionsAsked(s) {
			t.Errorf("%s: package server asks and reads that, so that everybody has the same answer", asked)
		}
	}
}

func TestQuestionsAreFound(t *testing.T) {
	s := parse(t, "run/a.go", `package run
var a = bson.D{{Key: "replSetGetStatus", Value: 1}, {Key: "hello", Value: "hostInfo"}}
`)
	if got := questionsAsked(s); len(got) != 2 {
		t.Errorf("found %q, want two questions", got)
	}
}
