package ycsbtext

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrdinal(t *testing.T) {
	for p, want := range map[float64]string{
		0: "0th", 1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th",
		21: "21st", 50: "50th", 95: "95th", 99: "99th", 99.9: "99.9", 99.99: "99.99", 100: "100th",
	} {
		if got := ordinal(p); got != want {
			t.Errorf("ordinal(%v) = %q, want %q", p, got, want)
		}
	}
}

func TestParsePercentiles(t *testing.T) {
	got, err := ParsePercentiles("50, 95,99.9")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{50, 95, 99.9}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "50,", "x", "101", "-1", "NaN"} {
		if _, err := ParsePercentiles(bad); err == nil {
			t.Errorf("ParsePercentiles(%q) succeeded", bad)
		}
	}
}

func TestParseNames(t *testing.T) {
	for _, name := range typeNames {
		if typ, err := ParseType(name); err != nil || typeNames[typ] != name {
			t.Errorf("ParseType(%q) = %v, %v", name, typ, err)
		}
	}
	for _, name := range intervalNames {
		if iv, err := ParseInterval(name); err != nil || intervalNames[iv] != name {
			t.Errorf("ParseInterval(%q) = %v, %v", name, iv, err)
		}
	}
	if _, err := ParseType("hdr"); err == nil || !strings.Contains(err.Error(), "hdrhistogram+raw") {
		t.Errorf("unknown type: %v, want an error that lists the known ones", err)
	}
	if _, err := ParseInterval("all"); err == nil || !strings.Contains(err.Error(), "intended") {
		t.Errorf("unknown interval: %v, want an error that lists the known ones", err)
	}
	for _, name := range ExporterNames() {
		if _, err := NewExporter(name, nil); err != nil {
			t.Error(err)
		}
	}
	if _, err := NewExporter("XMLMeasurementsExporter", nil); err == nil {
		t.Error("an unknown exporter was accepted")
	}
}

// TestOrder compares with what Java 17 prints for a ConcurrentHashMap with these keys and these statuses.
func TestOrder(t *testing.T) {
	names := []string{"UPDATE", "CLEANUP", "READ"}
	hashOrder(names)
	if diff := cmp.Diff([]string{"READ", "CLEANUP", "UPDATE"}, names); diff != "" {
		t.Error(diff)
	}
	many := []string{"READ", "UPDATE", "SCAN", "READ-MODIFY-WRITE", "CLEANUP", "VERIFY", "READ-FAILED",
		"UPDATE-FAILED", "INSERT-FAILED", "SCAN-FAILED", "SCAN-LATENCY-PER-RECORD", "INSERT"}
	hashOrder(many)
	want := "READ-MODIFY-WRITE SCAN-LATENCY-PER-RECORD VERIFY READ-FAILED INSERT-FAILED READ " +
		"UPDATE-FAILED SCAN-FAILED CLEANUP UPDATE INSERT SCAN"
	if got := strings.Join(many, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !slices.Contains(statusOrder, StatusOf(OpRead, "anything")) {
		t.Error("the default status has no place in the order")
	}
}
