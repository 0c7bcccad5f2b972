// Package html writes a page ([report.Page]) as one file that needs nothing else: no server, no network, no script but
// for zooming.
//
// A page begins with the verdict, the most important figures and the findings. Figures follow, each with a table of its
// numbers unless a table of the page has them, and then everything that is needed to repeat the measurement. All of
// that is data, which package report makes; package chart draws figures. This package knows no kinds of records.
//
// Names in a record come from users and servers and may be hostile: [report.Tidy] bounds them and takes control
// characters out when a record is opened, package markup escapes them, and the page's content policy lets no script run
// but the one whose hash it names.
package html
