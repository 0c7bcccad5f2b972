package repotest

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

var (
	lowerBudgets = flag.Bool("update", false, "lower the budgets of testdata/prose.txt to the counts of today")
	listOld      = flag.String("list", "", "list all hits of TestPlainWords below a folder or in a file (. lists all)")
)

// oldWords are words and constructions that are not plain English, each with what to write instead. A space stands for
// any white space. What the group ok matches is fine. Letters match in both cases, except after (?-i).
var oldWords = []struct{ pattern, instead string }{
	// Sentences that begin with a relative clause.
	{start + `Who(?:ever)? [^?]{4,}?(?:[.;]|$)`, `name the person or the thing: "You", "The user", "A client", "The member"`},
	{start + `What [^?]{8,}?\.(?:\s|$)`, `name the thing: "Installed files", "The record", "The drill"`},
	{start + `Where [^?.]{4,}?, `, `"If …," or "When …,"`},
	{`^(?-i:what|who|where) (?:[^?]*[^?])$`, `name the thing: "directory of the record", "metrics to compare"`},
	{`\bwho(?:so)?ever\b`, `"you", "the user", "a client", "the process"`},
	{`\bwhatever\b`, `"any", "every", "regardless of"`},
	{`\b(?:is|are|was|were) what\b`, `turn it round and name the thing`},
	{`\b(?:that|those|ones) which\b`, `repeat the noun`},
	{`, which (?:is|are|was|were)\b`, `two sentences, or "because", "so"`},
	// People.
	{`\b(?:no|some|any|every)body\b`, `"no client", "no one", "another process", "a user"`},
	{`\bone (?:does|wants|sees)\b`, `"you"`},
	// Verbs.
	{`\b(?:stands?|stood) (?:at|below|above|beside|behind|in|on|there|apart)\b`, `"is", "is shown in", "follows"`},
	{`\bhow (?:\S+ ){1,4}stands?\b`, `"the state of …"`},
	{`\blies (?:beside|below|above|behind|in|far)\b`, `"is"`},
	{`\b(?:com(?:e|es|ing)|came) about\b`, `"is injected", "takes effect", "happens"`},
	{`\b(?:comes?|came|coming) back\b`, `"returns", "is up again"`},
	{`\b(?:came|comes?)\b[^.]{0,20}\blate\b`, `"is late", or the latency with its percentile`},
	{`\btold\b`, `"reported", "notified", "shown", "set", "acknowledged"`},
	{`(?P<ok>cannot )?\btells?\b`, `"shows", "determines", "reports", "distinguishes"`},
	{`\b(?:tak(?:e|es|en|ing)|took) the place of\b`, `"replaces"`},
	{`\bin the place of\b`, `"instead of", "for"`},
	{`\b(?:is|are|be|was|were) worth\b`, `"how reliable … is", or the figure`},
	{`\bhas it that\b`, `"states that"`},
	{`\b(?:holds?|held|holding) against\b`, `"compares with"`},
	{`\b(?:is|are|be) had\b`, `"is available"`},
	{`\b(?:speaks?|spoke) (?:of|for|about|only)\b`, `"applies to", "describes"`},
	{`\bknow(?:s|n)? (?:of|no)\b`, `"has", "supports", "recognizes"`},
	{`\b(?:is|are) level with\b`, `"has caught up with"`},
	{`\b(?:gives?|gave|given|giving) up\b`, `"stops", "times out", "gives … back"`},
	{`\b(?:does|did|do|doing) so\b`, `repeat the verb`},
	{`\b(?:goes|go|went|going) on\b(?P<ok> top)?`, `"continues", "resumes", "runs"`},
	{`\blooks (?:at|for|into|whether)\b|\blooked (?:at|for|up|into)\b|\blook whether\b`,
		`"checks", "reads", "polls", "searches for"`},
	{`\bask(?:s|ed)\b`, `"requests", "queries", "sends a command to"`},
	{`\bsays (?:so|what|which|how|whether|where|who|why|nothing|of)\b`, `"reports", "states", "shows", "describes"`},
	{`\b(?:is|are|was|were|be) said\b|\bsaid so\b`, `"stated", "reported"`},
	{`[:;,] say (?:-|%|what|which|how)|\bor say\b`, `"set", "use"`},
	{`\b(?:brings?|brought|bringing) up\b`, `"creates", "starts"`},
	{`\b(?:sees?|saw|seen) to\b`, `"repairs", "handles"`},
	{`\bmend(?:s|ed|ing)?\b`, `"repairs"`},
	{`\brests? on\b`, `"is based on", "depends on"`},
	{`\b(?:is|are|was|were) meant\b`, `"is intended"`},
	{`\bto be (?:believed|seen|had)\b`, `"valid", "visible", "available"`},
	{`\b(?:is|are|was|were) (?:still |not |already )?there\b(?P<ok> (?:an?|any|enough|no|some|more)\b)?`,
		`"exists", "is present", "is stored"`},
	{`\b(?:is|are|was|were) gone\b`, `"no longer exists", "was removed", "is lost", "is down"`},
	{`(?P<ok>there )?\b(?:is|are|was|were) no (?P<ok>longer|such|more|less|later|worse|better)?[a-z]*`, `"is not a"`},
	{`\bleft alone\b`, `"not changed", "skipped"`},
	// Other words.
	{`\bunder way\b`, `"running", "in progress"`},
	{`\bmanners?\b`, `"failure mode"`},
	{`\b(?:is|are|was|were|be|not|last|no|in|only|kept|left) whole\b|(?P<ok>as )?\ba whole (?P<ok>number)?`, `"complete"`},
	{`\bshed(?:s|ding)?\b`, `"skipped", "dropped", "left out"`},
	{`\blucky\b`, `"successful operations"`},
	{`\bno more(?P<ok> than)?\b|\bany ?more\b`, `"no longer", "stopped"`},
	{`\bby (?:itself|themselves)\b`, `"automatically"; of a fault: "reverts"`},
	{`\bmeanwhile\b`, `"during the run", "at the same time", or nothing`},
	{`\bbeside\b`, `"next to", "with", "in addition to"`},
	{`\bof (?:its|their) own\b`, `"its own …", "a separate …"`},
	{`\b\d+ turns\b|\bturns (?:a|per) minute\b|\bturns/min|\b(?:half )?a turn of a disk\b`, `"rpm", "half a rotation"`},
	{`\b(?:in|by) turns\b`, `"alternating"`},
	{`\bone in a (?:hundred|thousand)\b`, `the percentile or the percentage`},
	{`\banew\b|\bonce more\b`, `"again", "new"`},
	{`\ball the same\b`, `"still", "nevertheless"`},
	{`\bin the end\b`, `"finally", "at the end", "when it stops"`},
	{`\bsomething broken\b|\bbroken (?:lab|target|member)\b`, `"a fault", "an unusable lab"`},
	{`\bfor want of\b`, `"because there is no"`},
}

// start is the beginning of a sentence.
const start = `(?:^|\n\n|[.:;!?)] |^- )(?-i:)`

// oldWord is a row of [oldWords], compiled.
type oldWord struct {
	pattern *regexp.Regexp
	ok      []int // groups
	instead string
}

func oldWordList() []oldWord {
	var list []oldWord
	for _, w := range oldWords {
		// A line break is a space, an empty line is not.
		form := strings.ReplaceAll(w.pattern, " ", `(?:[ \t]+\n?[ \t]*|\n[ \t]*)`)
		c := oldWord{pattern: regexp.MustCompile(`(?i)` + form), instead: w.instead}
		for i, name := range c.pattern.SubexpNames() {
			if name == "ok" {
				c.ok = append(c.ok, i)
			}
		}
		list = append(list, c)
	}
	return list
}

// in returns where the words are in a text.
func (w oldWord) in(text string) [][2]int {
	var found [][2]int
	for _, m := range w.pattern.FindAllStringSubmatchIndex(text, -1) {
		if !slices.ContainsFunc(w.ok, func(group int) bool { return m[2*group] >= 0 }) {
			found = append(found, [2]int{m[0], m[1]})
		}
	}
	return found
}

// An oldHit is one place with old words.
type oldHit struct {
	name string
	line int
	text string // with what to write instead
}

func (h oldHit) String() string { return fmt.Sprintf("%s:%d: %s", h.name, h.line, h.text) }

func oldHits(all []passage) []oldHit {
	var hits []oldHit
	words := oldWordList()
	for _, p := range all {
		for _, w := range words {
			for _, m := range w.in(p.text) {
				at := m[0] + max(0, strings.IndexFunc(p.text[m[0]:m[1]], unicode.IsLetter))
				hits = append(hits, oldHit{p.name, p.line(at), fmt.Sprintf("%q → %s", around(p.text, at, m[1]), w.instead)})
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b oldHit) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.line, b.line))
	})
	return hits
}

// around returns words of a text with some of what is before and behind them.
func around(text string, from, to int) string {
	from = max(strings.LastIndex(text[:max(0, from-20)], " ")+1, 0)
	to = min(to, from+80)
	if next := strings.Index(text[min(to+10, len(text)):], " "); next >= 0 {
		to = min(to+10, len(text)) + next
	} else {
		to = len(text)
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text[from:to], "")), " ")
}

// budgetOf returns the row of the budgets that a file belongs to: pages have one each, all else by folder.
func budgetOf(name string) string {
	if path.Ext(name) == ".md" {
		return name
	}
	return path.Dir(name)
}

const budgetFile = "testdata/prose.txt"

const budgetHead = `# How many old words (prose_test.go) are left in what users read, by folder or page. A folder that is not here has none.
# The numbers only become smaller: go test ./internal/repotest -run TestPlainWords -update
`

func readBudgets(t *testing.T) map[string]int {
	t.Helper()
	budgets := map[string]int{}
	data, err := os.ReadFile(filepath.FromSlash(budgetFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, count, _ := strings.Cut(line, " ")
		if budgets[name], err = strconv.Atoi(count); err != nil {
			t.Fatalf("%s: %q: %v", budgetFile, line, err)
		}
	}
	return budgets
}

// formatBudgets leaves an empty line between two folders, so that changes of both can be merged.
func formatBudgets(budgets map[string]int) string {
	text := budgetHead
	for _, name := range slices.Sorted(maps.Keys(budgets)) {
		text += fmt.Sprintf("\n%s %d\n", name, budgets[name])
	}
	return text
}

// Texts for users are plain English, as CONTRIBUTING.md has it: -list FOLDER shows what is left of the old words.
func TestPlainWords(t *testing.T) {
	hits := oldHits(passages(t))
	counts := map[string][]oldHit{}
	for _, h := range hits {
		counts[budgetOf(h.name)] = append(counts[budgetOf(h.name)], h)
		below := strings.HasPrefix(h.name, strings.TrimSuffix(*listOld, "/")+"/")
		if *listOld == "." || h.name == *listOld || *listOld != "" && below {
			fmt.Println(h)
		}
	}
	budgets := readBudgets(t)
	lowered := false
	for name := range maps.Keys(budgets) {
		switch count := len(counts[name]); {
		case count >= budgets[name]:
		case *lowerBudgets:
			budgets[name], lowered = count, true
		default:
			t.Errorf("%s has %d old words, its budget is %d: lower the budget (-update)", name, count, budgets[name])
		}
	}
	if lowered {
		if err := os.WriteFile(filepath.FromSlash(budgetFile), []byte(formatBudgets(budgets)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, found := range counts {
		if len(found) > budgets[name] {
			t.Errorf("%s has %d old words, its budget is %d: write plain English (CONTRIBUTING.md):\n%s",
				name, len(found), budgets[name], joinHits(found))
		}
	}
}

func joinHits(hits []oldHit) string {
	var b strings.Builder
	for _, h := range hits {
		fmt.Fprintln(&b, "\t", h)
	}
	return b.String()
}

func TestOldWordsAreFound(t *testing.T) {
	old := map[string]string{ // and what is said in plain words
		"Whoever knows one of these tools finds it here.":      "If you already use one of these tools, this is the equivalent.",
		"Why to trust it stands below.":                        "See \"Why believe it\".",
		"A fault did not come\nabout: the load had ended.":     "The fault was not injected because the load had ended.",
		"the lab heals it by itself":                           "the lab reverts the fault after that time",
		"What is installed already is kept.":                   "Installed files are kept. What is missing?",
		"where the record goes":                                "directory of the record",
		"two members are there, which is no majority":          "two members are up. There is no majority. Are there any others?",
		"the file is not whole, so nobody reads it any more":   "the file is incomplete, so it is no longer read; as a whole number",
		"the member is the primary no more":                    "the member is no longer the primary, and no more than one is",
		"an operation was shed, and latencies are those of it": "an operation was skipped",
	}
	for old, plain := range old {
		var o, p passage
		o.add(old, 1)
		p.add(plain, 1)
		if hits := oldHits([]passage{o}); len(hits) == 0 {
			t.Errorf("nothing is found in %q", old)
		}
		if hits := oldHits([]passage{p}); len(hits) > 0 {
			t.Errorf("%q is found to be old: %s", plain, joinHits(hits))
		}
	}
}

func TestPassages(t *testing.T) {
	s := parse(t, "load/a.go", "package load\n\nvar a = f(\"one \" +\n\tb(\"two three\") + `four\nfive`, \"six\")\n\n"+
		"type t struct {\n\ta int `json:\"a b\"`\n}\n")
	all := append(goPassages(s),
		markdownPassages("a.md", "# A title\n\nOne `whoever`\ntwo.\n- three\n- four\n```\nfive\n```\n")...)
	all = append(all, commentPassages("a.yaml", "# one\n# two\na: 1 # three\n\n# four\n")...)
	var got []string
	for _, p := range all {
		got = append(got, fmt.Sprintf("%d %q", p.starts[0].line, p.text))
	}
	want := []string{`4 "two three"`, `3 "one …four\nfive"`, `1 "# A title"`, `3 "One .........\ntwo.\n"`, `5 "- three\n"`, `6 "- four\n"`,
		`8 "five"`, `1 "one\ntwo\n"`, `3 "three\n"`, `5 "four\n"`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if line := all[1].line(strings.Index(all[1].text, "five")); line != 5 {
		t.Errorf("five is in line %d, want 5", line)
	}
}
