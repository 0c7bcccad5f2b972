package run

import "time"

// TellIfSlow calls do, and calls tell once if do takes more than two seconds. Both have returned when it returns.
func TellIfSlow(tell, do func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-time.After(2 * time.Second):
			tell()
		case <-done:
		}
	}()
	do()
	close(done)
	<-ended
}
