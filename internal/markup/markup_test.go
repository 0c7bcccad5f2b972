package markup

import "testing"

// Text stays text in elements and in attributes, and markup stays markup.
func TestWriter(t *testing.T) {
	var w Writer
	const hostile = `"><script>alert('&')</script>`
	w.Add(`<a href="/record/%s" title="%s">%s</a>`, "r1", hostile, hostile)
	w.AddIf(true, "<b>%s</b>%s", 3, HTML("<i>4</i>"))
	w.AddIf(false, "<u>%s</u>", 5)
	const text = "&#34;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;"
	if want := HTML(`<a href="/record/r1" title="` + text + `">` + text + `</a><b>3</b><i>4</i>`); w.HTML() != want {
		t.Errorf("wrote\n%s\nwant\n%s", w.HTML(), want)
	}
	if got := Text(hostile); got != text {
		t.Errorf("the text is %s", got)
	}
}
