// Package spec is what people ask for: a run, a study, a drill, a suite, a lab, a price list. It has their types and
// units (100k, 64GiB, 30s), reads them strictly from YAML, fills in defaults, validates, and scales them to another
// machine.
//
// What a run leaves is package record, which keeps a copy of its specification. Nothing here runs, opens or prints
// anything.
package spec
