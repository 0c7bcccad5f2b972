// Package ycsbtext writes what YCSB writes: the final summary in its three exporter formats and the
// status line, from the counts and histograms of package measure, so that scripts made for YCSB's
// output keep working.
//
// Formats, names, order of lines, rounding and even the values that YCSB prints for "nothing happened"
// are those of YCSB 0.17 and 0.18 with HdrHistogram 2.1.4. What is deliberately different is the business
// of the caller and is told to the user there. Nothing here measures, reads a clock or knows a flag.
package ycsbtext
