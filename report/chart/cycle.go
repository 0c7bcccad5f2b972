package chart

import "strings"

// Cycle draws a circle of things, each of which comes before the next one, and the last one before the first: boxes in
// a column with arrows between them, and one arrow from the bottom back to the top.
type Cycle struct {
	Frame
	Nodes []CycleNode
	// Edges lead from each node to the next one, the last to the first.
	Edges []CycleEdge
}

// CycleNode is a box.
type CycleNode struct {
	Title string
	Lines []string
}

// CycleEdge is an arrow with its reason.
type CycleEdge struct {
	Text   string
	Style  Style
	Colour int
}

const (
	cycleLine = 15.0 // height of a line of text
	cycleGap  = 38.0 // between two boxes
	cycleLeft = 26.0 // of the boxes; the arrow back is left of it
)

// wrapped splits a text into lines of so many characters, between words where it can.
func wrapped(text string, most int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		for len([]rune(word)) > most {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, word = append(lines, string([]rune(word)[:most])), string([]rune(word)[most:])
		}
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= most:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// box is where a node is.
type box struct {
	top, bottom float64
	lines       []string // the first one is bold
	bold        int      // how many of them
}

func (c *Cycle) Draw(s Size) string {
	wide := s.Width - cycleLeft - 8
	room := int((wide - 20) / perBoldChar)
	boxes, y := make([]box, len(c.Nodes)), 4.0
	for i, n := range c.Nodes {
		b := box{top: y, lines: wrapped(Plain(n.Title), room)}
		b.bold = len(b.lines)
		for _, line := range n.Lines {
			b.lines = append(b.lines, wrapped(Plain(line), room)...)
		}
		b.bottom = y + 10 + cycleLine*float64(len(b.lines))
		boxes[i], y = b, b.bottom+cycleGap
	}
	var back []string
	if len(c.Edges) == len(c.Nodes) && len(c.Nodes) > 0 {
		back = wrapped(Plain(c.Edges[len(c.Edges)-1].Text), room)
		y += cycleLine * float64(len(back)-1)
	}
	var b builder
	c.start(&b, s, max(y, cycleGap))
	for _, one := range boxes {
		b.rect(cycleLeft, one.top, wide, one.bottom-one.top, "hull")
		for i, line := range one.lines {
			class := "at"
			if i < one.bold {
				class = "gh"
			}
			b.label(cycleLeft+10, one.top+16+cycleLine*float64(i), left, class, line)
		}
	}
	for i, e := range c.Edges {
		if i+1 < len(boxes) {
			c.down(&b, e, boxes[i].bottom, boxes[i+1].top, room)
		}
	}
	if back != nil {
		c.up(&b, c.Edges[len(c.Edges)-1], boxes[0], boxes[len(boxes)-1], back)
	}
	b.raw("</svg>\n")
	return b.String()
}

// down draws the arrow from a box to the next one, and its reason beside it.
func (c *Cycle) down(b *builder, e CycleEdge, from, to float64, room int) {
	x := cycleLeft + 20
	b.path("M"+number(x)+" "+number(from)+"L"+number(x)+" "+number(to)+arrow(x, to, false), e.class())
	b.label(x+12, (from+to)/2+4, left, "at", Shorten(e.Text, room-2))
}

// up draws the arrow from the last box back to the first one, and its reason below.
func (c *Cycle) up(b *builder, e CycleEdge, first, last box, text []string) {
	x, y := cycleLeft+20, last.bottom+14
	at := (first.top + first.bottom) / 2
	b.path("M"+number(x)+" "+number(last.bottom)+"L"+number(x)+" "+number(y)+"L10 "+number(y)+"L10 "+number(at)+
		"L"+number(cycleLeft)+" "+number(at)+arrow(cycleLeft, at, true), e.class())
	for i, line := range text {
		b.label(x+12, y+4+cycleLine*float64(i), left, "at", line)
	}
}

// arrow is the head of an arrow that ends at a point, from above or from the left.
func arrow(x, y float64, fromLeft bool) string {
	if fromLeft {
		return "M" + number(x-7) + " " + number(y-4) + "L" + number(x) + " " + number(y) + "L" + number(x-7) + " " + number(y+4)
	}
	return "M" + number(x-4) + " " + number(y-7) + "L" + number(x) + " " + number(y) + "L" + number(x+4) + " " + number(y-7)
}

func (e CycleEdge) class() string {
	return e.Style.class() + " c" + number(float64(e.Colour%6))
}
