// Command service keeps persons in MongoDB and speaks REST: see package persons for what it answers.
//
//	go run ./examples/failover/service --uri 'mongodb://127.0.0.1:27017/?w=majority' --listen 127.0.0.1:8080
//	curl -d '{"firstName": "Ada", "lastName": "Byron"}' http://127.0.0.1:8080/persons
//	plimsoll run http://127.0.0.1:8080/ --workload person
//
// It ends at an interrupt (Ctrl-C) or SIGTERM, after the requests that it has. It asks nobody who they are, so it
// listens on loopback unless it is told otherwise.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/examples/failover/persons"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address and port to listen at")
	uri := flag.String("uri", "mongodb://127.0.0.1:27017/", "address of MongoDB; plimsoll lab status shows that of a lab")
	database := flag.String("database", "plimsoll", "database that holds the persons")
	timeout := flag.Duration("timeout", 5*time.Second, "how long MongoDB may take for one request")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := persons.Serve(ctx, *listen, persons.Options{URI: *uri, Database: *database, Timeout: *timeout},
		func(url string) {
			fmt.Println("listening at", url)
		})
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}
