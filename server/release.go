package server

import (
	"slices"
	"strconv"
	"time"
)

// TableDate is the date of the last comparison of the tables of releases and advisories with the vendor's pages.
const TableDate = "2026-11-23"

// Release is a series of releases of MongoDB, such as 8.0.
type Release struct {
	Series   string
	Released string // year-month-day
	Until    string // last day of maintenance
}

// releases is the vendor's lifecycle schedule for self-managed servers
// (https://www.mongodb.com/legal/support-policy/lifecycles). Rapid releases end when the next one appears.
var releases = []Release{
	{"3.6", "2017-11-30", "2021-04-30"},
	{"4.0", "2018-06-30", "2022-04-30"},
	{"4.2", "2019-08-31", "2023-04-30"},
	{"4.4", "2020-07-31", "2024-02-29"},
	{"5.0", "2021-07-31", "2024-10-31"},
	{"5.1", "2021-11-09", "2022-01-18"},
	{"5.2", "2022-01-18", "2022-03-23"},
	{"5.3", "2022-03-23", "2022-07-31"},
	{"6.0", "2022-07-31", "2025-07-31"},
	{"6.1", "2022-10-12", "2023-02-09"},
	{"6.2", "2023-02-09", "2023-04-24"},
	{"6.3", "2023-04-24", "2023-08-31"},
	{"7.0", "2023-08-31", "2027-08-31"},
	{"7.1", "2023-10-18", "2024-01-23"},
	{"7.2", "2024-01-23", "2024-03-27"},
	{"7.3", "2024-03-27", "2024-10-31"},
	{"8.0", "2024-10-31", "2029-10-31"},
	{"8.1", "2025-06-20", "2025-09-30"},
	{"8.2", "2025-09-17", "2026-07-31"},
	{"8.3", "2026-05-04", "2029-10-31"},
}

// Release returns the series that a version belongs to; false if the table does not have it.
func (v Version) Release() (Release, bool) {
	for _, r := range releases {
		if r.Series == v.Series() {
			return r, true
		}
	}
	return Release{}, false
}

// Maintained reports whether the vendor maintains the series on a day. known is false for a series that is not in the
// table.
func (v Version) Maintained(day time.Time) (maintained, known bool) {
	r, known := v.Release()
	return known && day.UTC().Format(time.DateOnly) <= r.Until, known
}

// MaintainedSeries returns the series that the vendor maintains on a day, oldest first.
func MaintainedSeries(day time.Time) []string {
	var list []string
	for _, r := range releases {
		if today := day.UTC().Format(time.DateOnly); r.Released <= today && today <= r.Until {
			list = append(list, r.Series)
		}
	}
	return list
}

// Advisory is a published vulnerability of the server.
type Advisory struct {
	ID    string
	What  string         // one sentence: the possible attack and the required access
	Fixed map[string]int // the first fixed patch by series
	Open  []string       // vulnerable series without a fix
}

// advisories are vulnerabilities of every deployment, the most severe first; there are others.
// Sources: the vendor's alerts (https://www.mongodb.com/resources/products/alerts) and the entries of the CVE list.
var advisories = []Advisory{
	{ID: "CVE-2025-14847", What: "anyone who can connect can read parts of the server's memory, passwords included (zlib compression)",
		Fixed: map[string]int{"4.4": 30, "5.0": 32, "6.0": 27, "7.0": 28, "8.0": 17, "8.2": 3},
		Open:  []string{"3.6", "4.0", "4.2", "5.1", "5.2", "5.3", "6.1", "6.2", "6.3", "7.1", "7.2", "7.3", "8.1"}},
	{ID: "CVE-2026-9740", What: "anyone who can connect can crash the server with one message",
		Fixed: map[string]int{"7.0": 35, "8.0": 24, "8.2": 10, "8.3": 3}},
	{ID: "CVE-2026-8053", What: "a user who can insert can corrupt the server's memory through a time-series collection",
		Fixed: map[string]int{"5.0": 33, "6.0": 28, "7.0": 34, "8.0": 23, "8.2": 9, "8.3": 2}},
	{ID: "CVE-2026-6914", What: "a user can crash the server with a malformed document",
		Fixed: map[string]int{"7.0": 32, "8.0": 21}, Open: []string{"8.1"}},
}

// Advisories returns the known vulnerabilities of a release, the most severe first.
func (v Version) Advisories() []Advisory {
	var found []Advisory
	for _, a := range advisories {
		patch, repaired := a.Fixed[v.Series()]
		if repaired && v.Patch < patch || slices.Contains(a.Open, v.Series()) {
			found = append(found, a)
		}
	}
	return found
}

// RepairedIn returns the first release of the same series with fixes for all advisories of the table; false if there is
// none.
func (v Version) RepairedIn() (Version, bool) {
	fixed := Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch}
	for _, a := range v.Advisories() {
		patch, repaired := a.Fixed[v.Series()]
		if !repaired {
			return Version{}, false
		}
		fixed.Patch = max(fixed.Patch, patch)
	}
	fixed.Text = fixed.Series() + "." + strconv.Itoa(fixed.Patch)
	return fixed, true
}
