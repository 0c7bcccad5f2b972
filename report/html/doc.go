// Package html turns records into one page that needs nothing else: no server, no network, no script but for zooming.
//
// A page begins with the verdict, the most important figures and the findings. Charts follow, each with a table of its
// numbers, and then everything that is needed to repeat the measurement. Text and rounding are those of the document of
// a record ([report.Of]), which the terminal prints, too. Each kind of record has a file that draws the charts of its
// sections. The frame, the charts (package chart) and the course of a run (package course) are the same for all kinds.
//
// Names in a record come from users and servers and may be hostile: [Tidy] bounds them and takes control characters out
// when a record is opened, html/template escapes them, and the page's content policy lets no script run but the one
// whose hash it names.
package html
