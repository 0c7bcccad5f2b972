package run

import "time"

// quietAtMost is how long a target may say nothing until the user is told that it is waited for.
const quietAtMost = 2 * time.Second

// TellIfSlow does something and calls tell once if that takes longer than a person waits without a word. When it
// returns, tell is not running.
func TellIfSlow(tell, do func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-time.After(quietAtMost):
			tell()
		case <-done:
		}
	}()
	do()
	close(done)
	<-ended
}
