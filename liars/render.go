package main

import (
	"fmt"
	"slices"
	"strings"
)

// tally counts the rows by their state.
func tally(all []family, by map[string]result) map[state]int {
	t := map[state]int{}
	for _, f := range all {
		for _, r := range f.rows {
			if c, ok := by[f.name].rowOf(r.name); ok {
				t[c.state(r.goal)]++
			} else if r.goal != unclaimed {
				t[unknown]++
			}
		}
	}
	return t
}

// headline is the first line of the output and of the page.
func headline(t map[state]int) string {
	text := fmt.Sprintf("%d of %d goals are met: ", t[met], t[met]+t[missed]+t[open]+t[notRun]+t[unknown])
	var parts []string
	for _, p := range []struct {
		state state
		words string
	}{{missed, "missed"}, {open, "open (more trials would decide)"}, {notRun, "not run here"}, {unknown, "without a stored result"}} {
		if t[p.state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", t[p.state], p.words))
		}
	}
	if len(parts) == 0 {
		parts = []string{"none is missed"}
	}
	text += strings.Join(parts, ", ") + "."
	if n := t[noClaim]; n > 0 {
		text += fmt.Sprintf(" Rows that show what is not claimed: %d.", n)
	}
	return text
}

// tables renders results as they are printed.
func tables(all []family, by map[string]result) string {
	var b strings.Builder
	t := tally(all, by)
	delete(t, unknown) // only some rows were run
	fmt.Fprintf(&b, "%s\n", headline(t))
	for _, f := range all {
		if r, ok := by[f.name]; ok {
			f.table(&b, r)
		}
	}
	return b.String()
}

func (f family) table(b *strings.Builder, res result) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", f.name, f.verdict)
	b.WriteString("| input | found of planted | accused of honest | 95 % interval | no verdict | goal | | not found |\n")
	b.WriteString("|---|---:|---:|---:|---:|---|---|---|\n")
	for _, r := range f.rows {
		c, ok := res.rowOf(r.name)
		if !ok {
			continue
		}
		input, found, honest := "**lie**: "+r.lie, fmt.Sprintf("%d of %d", c.Accused, c.trials()), ""
		if r.honest != "" {
			input, found, honest = "honest: "+r.honest, "", found
		}
		iv := c.interval()
		interval, cannot, verdict := fmt.Sprintf("%s–%s %%", percent(iv.Low), percent(iv.High)), "", string(c.state(r.goal))
		if c.Undecided > 0 {
			cannot = fmt.Sprint(c.Undecided)
		}
		if c.NotRun != "" {
			verdict, interval = "not run: "+c.NotRun, ""
		}
		if c.Failed > 0 {
			verdict += fmt.Sprintf(" (%d trials failed)", c.Failed)
		}
		fmt.Fprintf(b, "| %s (`%s`) | %s | %s | %s | %s | %s | %s | %s |\n", input, r.name, found, honest, interval, cannot, r.goal,
			verdict, r.notFound)
	}
	f.confusion(b, res)
	f.blind(b)
	about := res.About
	if about != "" {
		about = "on " + about + ", "
	}
	if res.Date != "" {
		fmt.Fprintf(b, "\n%s, commit %s, %s%s; %.0f s, seed %d.\n", res.Date, res.Commit, about, res.Machine, res.Seconds, res.Seed)
		for _, made := range res.made() {
			fmt.Fprintf(b, "\nMade later (%s): %s.\n", made, strings.Join(res.rowsMade(made), ", "))
		}
	}
}

// percent writes a limit of an interval, so that a limit is not rounded to a goal that it does not reach.
func percent(share float64) string {
	switch {
	case share == 0 || share == 1:
		return fmt.Sprintf("%.0f", share*100)
	case share > 0.01 && share < 0.99:
		return fmt.Sprintf("%.1f", share*100)
	}
	return fmt.Sprintf("%.2f", share*100)
}

// pageHead is the beginning of docs/trust.md.
const pageHead = `# How sure the verdicts are

Which lies do the verdicts of Plimsoll find, and how often do they accuse an honest input?

` + "```" + `
go run ./liars                    # all trials; make ci runs a small version
go run ./liars -family drill      # of one verdict
` + "```" + `

%s

The *campaign of known liars* gives each verdict every kind of lie that it claims to find, many times, and honest inputs
that look like lies. Each trial has a seed and goes through the code that judges for users. These are the stored results.
[The reference](reference/liars.md) has each lie and each honest input with its interval, and for each verdict the lies that it
does not find.

| verdict | goals met | lies found, of those that it claims to find | honest inputs accused |
|---|---:|---:|---:|
`

// referenceHead explains the tables to a reader who knows no other page.
const referenceHead = `# Known liars

%s

Made by ` + "`go run ./liars -family NAME -update`" + `. [The summary](../trust.md) explains the campaign.

- **found of planted**: lies that the verdict found, of those that were planted.
- **accused of honest**: honest inputs that the verdict accused.
- **95 %% interval**: of that share (Clopper and Pearson, exact).
- **no verdict**: trials whose verdict is *unknown* or *cannot be decided*. A lie in them is not found, and an
  honest input is not accused.
- **goal**: met if the share reaches it, open if the share does not and the interval includes the goal, missed otherwise.
  *Not claimed* is measured and not promised.
- **not found**: forms of the lie that the verdict does not find.
`

// page renders docs/trust.md from the stored results.
func page(all []family, by map[string]result) string {
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, headline(tally(all, by)))
	for _, f := range all {
		if r, ok := by[f.name]; ok {
			f.summary(&b, r)
		}
	}
	for _, f := range all {
		if r, ok := by[f.name]; ok && f.matrix {
			f.confusion(&b, r)
		}
	}
	if missing := withoutResult(all, by); len(missing) > 0 {
		fmt.Fprintf(&b, "\nWithout a stored result: %s.\n", strings.Join(missing, "; "))
	}
	return b.String()
}

// summary is the line of a family: its claimed rows, added up.
func (f family) summary(b *strings.Builder, res result) {
	var reached, goals, found, lies, accused, honest int
	for _, r := range f.rows {
		if r.goal == unclaimed {
			continue
		}
		goals++
		c, ok := res.rowOf(r.name)
		if !ok {
			continue
		}
		if c.state(r.goal) == met {
			reached++
		}
		if r.honest != "" {
			accused, honest = accused+c.Accused, honest+c.trials()
		} else {
			found, lies = found+c.Accused, lies+c.trials()
		}
	}
	share := func(n, of int) string {
		if of == 0 {
			return "–"
		}
		return fmt.Sprintf("%d of %d", n, of)
	}
	fmt.Fprintf(b, "| [%s](reference/liars.md#%s): %s | %d of %d | %s | %s |\n", f.name, f.name, f.verdict, reached, goals,
		share(found, lies), share(accused, honest))
}

// withoutResult are the families and rows that have no stored result.
func withoutResult(all []family, by map[string]result) (missing []string) {
	for _, f := range all {
		r, ok := by[f.name]
		var rows []string
		for _, row := range f.rows {
			if _, has := r.rowOf(row.name); ok && !has {
				rows = append(rows, "`"+row.name+"`")
			}
		}
		switch {
		case !ok:
			missing = append(missing, f.name+" ("+f.verdict+")")
		case len(rows) > 0:
			missing = append(missing, f.name+": "+strings.Join(rows, ", "))
		}
	}
	return missing
}

// reference renders docs/reference/liars.md from the stored results.
func reference(all []family, by map[string]result) string {
	var b strings.Builder
	fmt.Fprintf(&b, referenceHead, headline(tally(all, by)))
	for _, f := range all {
		if r, ok := by[f.name]; ok {
			f.table(&b, r)
		} else {
			fmt.Fprintf(&b, "\n## %s\n\n%s. Without a stored result.\n", f.name, f.verdict)
			f.blind(&b)
		}
	}
	return b.String()
}

// confusion is the matrix of what was planted and what was named.
func (f family) confusion(b *strings.Builder, res result) {
	if !f.matrix {
		return
	}
	var labels []string
	for _, c := range res.Rows {
		for label := range c.Named {
			if !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	slices.Sort(labels)
	if len(labels) == 0 {
		return
	}
	fmt.Fprintf(b, "\nPlanted (rows) and named (columns):\n\n| planted | %s |\n|---|%s\n", strings.Join(labels,
		" | "), strings.Repeat("---:|", len(labels)))
	for _, r := range f.rows {
		c, ok := res.rowOf(r.name)
		if !ok || len(c.Named) == 0 {
			continue
		}
		fmt.Fprintf(b, "| `%s` |", r.name)
		for _, label := range labels {
			fmt.Fprintf(b, " %d |", c.Named[label])
		}
		b.WriteByte('\n')
	}
	if text := f.sumOfMatrix(res); text != "" {
		fmt.Fprintf(b, "\n%s\n", text)
	}
}

// The goals of all rows of a matrix together.
const (
	mostWrong   = 0.05
	mostUnknown = 0.20
)

// wrongly counts the trials of planted labels in a matrix, those that named another one, and those that named none.
func (f family) wrongly(res result) (trials, wrong, undecided int) {
	for _, r := range f.rows {
		if c, ok := res.rowOf(r.name); ok && r.plants != "" {
			trials, wrong, undecided = trials+c.trials(), wrong+c.Cleared, undecided+c.Undecided
		}
	}
	return trials, wrong, undecided
}

// sumOfMatrix says how often a matrix is wrong.
func (f family) sumOfMatrix(res result) string {
	trials, wrong, undecided := f.wrongly(res)
	if trials == 0 {
		return ""
	}
	share := func(n int) string { return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(trials)) }
	text := fmt.Sprintf("Of %d planted limits %s got another label (goal: at most %.0f %%) and %s were *unknown* (at most %.0f %%).",
		trials, share(wrong), mostWrong*100, share(undecided), mostUnknown*100)
	if res.Rules != "" {
		text += " The rules are of " + res.Rules + ", and did not change during these trials."
	}
	return text
}

// blind lists the lies that a verdict does not find.
func (f family) blind(b *strings.Builder) {
	if len(f.notFound) == 0 {
		return
	}
	b.WriteString("\nNot found:\n\n")
	for _, text := range f.notFound {
		fmt.Fprintf(b, "- %s\n", text)
	}
}

// made are the times and commits of rows that were not made with the others.
func (r result) made() (list []string) {
	for _, c := range r.Rows {
		if c.Made != "" && !slices.Contains(list, c.Made) {
			list = append(list, c.Made)
		}
	}
	return list
}

func (r result) rowsMade(at string) (rows []string) {
	for _, c := range r.Rows {
		if c.Made == at {
			rows = append(rows, "`"+c.Row+"`")
		}
	}
	return rows
}
