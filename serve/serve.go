// Package serve shows records on a page in a browser: a folder of them, each of them as a report, several beside each
// other, and what is being written right now while it is written.
//
// It shows what the records say and nothing else: it measures nothing, and it makes nothing of its own but the
// request that something which runs should end. What a page looks like comes from report/html.
package serve
