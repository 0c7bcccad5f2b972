package ssh

// mostOutput bounds what is kept of the output of an ssh program. Its end says why the agent ended.
const mostOutput = 16 << 10 // bytes

// output keeps the end of what a program writes.
type output struct{ text []byte }

func (o *output) Write(p []byte) (int, error) {
	o.text = append(o.text, p[max(0, len(p)-mostOutput):]...)
	if n := len(o.text) - mostOutput; n > 0 {
		o.text = o.text[:copy(o.text, o.text[n:])]
	}
	return len(p), nil
}

// String returns the end of the output. Call it after the end of the program.
func (o *output) String() string { return string(o.text) }
