package ycsbtext

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Exporter writes the final summary, one value at a time.
type Exporter interface {
	Int(metric, measurement string, v int64) error
	// Double writes a number in Java's notation.
	Double(metric, measurement string, v float64) error
	// Close ends the document. It does not close the writer.
	Close() error
}

// exporterPackages are the packages of YCSB's exporters: since release 0.17, before it, and "" for the plain class
// name.
var exporterPackages = [...]string{"site.ycsb.measurements.exporter.", "com.yahoo.ycsb.measurements.exporter.", ""}

var exporters = map[string]func(io.Writer) Exporter{
	"TextMeasurementsExporter":      func(w io.Writer) Exporter { return &textExporter{w} },
	"JSONMeasurementsExporter":      func(w io.Writer) Exporter { return &jsonExporter{w: w} },
	"JSONArrayMeasurementsExporter": func(w io.Writer) Exporter { return &jsonExporter{w: w, array: true} },
}

// ExporterNames lists the class names of YCSB's exporters.
func ExporterNames() []string {
	return []string{
		exporterPackages[0] + "TextMeasurementsExporter",
		exporterPackages[0] + "JSONMeasurementsExporter",
		exporterPackages[0] + "JSONArrayMeasurementsExporter",
	}
}

// NewExporter returns the exporter with a class name of YCSB. "" is the text exporter.
func NewExporter(class string, w io.Writer) (Exporter, error) {
	if class == "" {
		return &textExporter{w}, nil
	}
	for _, pkg := range exporterPackages {
		if name, ok := strings.CutPrefix(class, pkg); ok && exporters[name] != nil {
			return exporters[name](w), nil
		}
	}
	return nil, fmt.Errorf("unknown exporter %q", class)
}

// textExporter writes "[METRIC], Measurement, value" lines.
type textExporter struct{ w io.Writer }

func (e *textExporter) Int(metric, measurement string, v int64) error {
	return e.line(metric, measurement, strconv.FormatInt(v, 10))
}

func (e *textExporter) Double(metric, measurement string, v float64) error {
	return e.line(metric, measurement, formatDouble(v))
}

func (e *textExporter) line(metric, measurement, value string) error {
	_, err := fmt.Fprintf(e.w, "[%s], %s, %s\n", metric, measurement, value)
	return err
}

func (e *textExporter) Close() error { return nil }

// jsonExporter writes one object per value. With array they are the elements of one JSON array. Otherwise they are
// separated by a space as in YCSB, which is not one JSON document. The layout is that of the pretty printer of Jackson
// 1.9, without a newline at the end.
type jsonExporter struct {
	w     io.Writer
	array bool
	begun bool
}

func (e *jsonExporter) Int(metric, measurement string, v int64) error {
	return e.object(metric, measurement, strconv.FormatInt(v, 10))
}

func (e *jsonExporter) Double(metric, measurement string, v float64) error {
	s := formatDouble(v)
	if last := s[len(s)-1]; last < '0' || last > '9' {
		s = strconv.Quote(s) // JSON has no NaN and no infinities; Jackson quotes them
	}
	return e.object(metric, measurement, s)
}

func (e *jsonExporter) object(metric, measurement, value string) error {
	_, err := fmt.Fprintf(e.w, "%s{\n  \"metric\" : %s,\n  \"measurement\" : %s,\n  \"value\" : %s\n}",
		e.separator(), jsonString(metric), jsonString(measurement), value)
	return err
}

func (e *jsonExporter) separator() string {
	first := !e.begun
	e.begun = true
	switch {
	case e.array && first:
		return "[ "
	case e.array:
		return ", "
	case first:
		return ""
	}
	return " "
}

func (e *jsonExporter) Close() error {
	if !e.array {
		return nil
	}
	end := " ]"
	if !e.begun {
		end = "[ ]"
	}
	_, err := io.WriteString(e.w, end)
	return err
}

// jsonString quotes s. Like Jackson, it does not escape '<', '>' and '&'.
func jsonString(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return strconv.Quote(s)
	}
	return htmlEscapes.Replace(string(b))
}

var htmlEscapes = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
