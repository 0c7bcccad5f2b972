// Package browser tests pages as people see them, in a real headless Chromium: that they ask nobody for anything,
// that charts are drawn and zoom, that tables have the numbers of the record, that nothing overflows on a phone, and
// that everybody can use them. What a page says is tested where it is made.
//
// See internal/browsertest for what happens where there is no Chromium.
package browser
