package run

import "time"

// slowAfter is how long a user waits without a message.
const slowAfter = 2 * time.Second

// TellIfSlow calls do, and calls tell once if do takes more than two seconds. Both have returned when it returns.
func TellIfSlow(tell, do func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-time.After(slowAfter):
			tell()
		case <-done:
		}
	}()
	do()
	close(done)
	<-ended
}
