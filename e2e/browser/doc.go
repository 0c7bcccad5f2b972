// Package browser tests pages in a headless Chromium: pages make no requests, charts are drawn and zoom, tables have
// the numbers of the record, nothing overflows on a phone, and pages are accessible. Texts of pages are tested where
// they are made.
//
// See internal/browsertest for tests without Chromium.
package browser
