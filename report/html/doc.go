// Package html turns records into one page that needs nothing else: no server, no network, no script but for zooming.
//
// What a page says first is whether it holds, how much, what is lost and whether it can be believed; then charts,
// each with its numbers in a table; then everything that is needed to do it again. Words and rounding are those of the
// document of a record ([report.Of]), as the terminal prints it too. A kind of record is one file here that draws what
// belongs to its sections; the frame, the charts (package chart) and the course of a run (package course) know no kind.
// Nothing is measured or judged here.
//
// Names in a record come from users and servers and may be hostile: [Tidy] bounds them and takes control
// characters out when a record is opened, html/template escapes them, and the page's content policy lets no script
// run but the one whose hash it names.
package html
