package repotest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// mostOfBench is the most lines of the benchmarks, without tests and the programs that they compare with.
const mostOfBench = 1980

// measures are the programs that measure Plimsoll itself.
var measures = []string{"bench", "liars"}

// forTests are folders of test support with other names, with the reason.
var forTests = map[string]string{
	"internal/gobuild": "it builds programs for tests",
	"internal/notrun":  "it names what tests did not check",
}

// lineCount is the number of lines of Go without tests in a room, by what they are for.
type lineCount struct{ product, support, measures int }

// countLines returns the lines of each room.
func countLines(all []source) map[string]lineCount {
	rooms := map[string]lineCount{}
	for _, s := range all {
		if s.isTest() {
			continue
		}
		n, c := strings.Count(s.text, "\n"), rooms[s.room()]
		switch {
		case slices.Contains(measures, s.room()):
			c.measures += n
		case notShipped(s.folder()) || forTests[s.folder()] != "":
			c.support += n
		default:
			c.product += n
		}
		rooms[s.room()] = c
	}
	return rooms
}

// TestLines shows the lines of each room (make lines).
func TestLines(t *testing.T) {
	rooms := countLines(sources(t))
	var sum lineCount
	t.Logf("%-10s %8s %8s %8s", "room", "product", "support", "measures")
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		c := rooms[room]
		t.Logf("%-10s %8d %8d %8d", room, c.product, c.support, c.measures)
		sum = lineCount{sum.product + c.product, sum.support + c.support, sum.measures + c.measures}
	}
	t.Logf("%-10s %8d %8d %8d", "all", sum.product, sum.support, sum.measures)
	n := 0
	for _, s := range sources(t) {
		if s.folder() == "bench" && !s.isTest() {
			n += strings.Count(s.text, "\n")
		}
	}
	if n > mostOfBench {
		t.Errorf("bench has %d lines, more than %d: remove a part that no page of docs quotes", n, mostOfBench)
	}
}

// unused lists the folders that no program has and that are not named as test support.
func unused(all []source) []string {
	in := map[string]bool{}
	folders := map[string]bool{}
	for _, s := range all {
		if s.isTest() {
			continue
		}
		folders[s.folder()] = true
		if s.file.Name.Name == "main" && !slices.Contains(measures, s.room()) {
			for folder := range shipped(all, s.folder()) {
				in[folder] = true
			}
		}
	}
	var list []string
	for folder := range folders {
		measure, _, _ := strings.Cut(folder, "/")
		if !in[folder] && !notShipped(folder) && forTests[folder] == "" && !slices.Contains(measures, measure) {
			list = append(list, folder)
		}
	}
	slices.Sort(list)
	return list
}

// Nobody reads test support as product: its name says so.
func TestTestSupportIsNamed(t *testing.T) {
	for _, folder := range unused(sources(t)) {
		t.Errorf("no program has %s: remove it, or let its name end in \"test\" if it helps tests", folder)
	}
}

func TestTestSupportIsFound(t *testing.T) {
	all := []source{
		parse(t, "cmd/plimsoll/a.go", "package main\nimport _ \""+module+"study\"\n"),
		parse(t, "study/a.go", "package study\n"),
		parse(t, "study/pretend/a.go", "package pretend\n"),
		parse(t, "study/studytest/a.go", "package studytest\n"),
		parse(t, "bench/a.go", "package main\nimport _ \""+module+"study/pretend\"\n"),
	}
	if got := unused(all); !slices.Equal(got, []string{"study/pretend"}) {
		t.Errorf("found %q", got)
	}
	rooms := countLines(all)
	if rooms["study"] != (lineCount{2, 1, 0}) || rooms["bench"] != (lineCount{0, 0, 2}) || rooms["cmd"] != (lineCount{2, 0, 0}) {
		t.Errorf("counted %v", rooms)
	}
}
