// Command standin takes the arguments of mongod and answers as the null responder does. It writes
// down the arguments it got and whether it was ended cleanly, in its data directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/store/null"
)

func main() {
	version := flag.Bool("version", false, "")
	dbpath := flag.String("dbpath", "", "")
	port := flag.String("port", "", "")
	bindIP := flag.String("bind_ip", "", "")
	logpath := flag.String("logpath", "", "")
	flag.Bool("logappend", false, "")
	flag.Float64("wiredTigerCacheSizeGB", 0, "")
	flag.Func("setParameter", "", func(p string) error {
		if name, _, _ := strings.Cut(p, "="); name == "unknown" {
			return fmt.Errorf("Unknown --setParameter '%s'", name)
		}
		return nil
	})
	flag.Parse()
	if *version {
		fmt.Println("db version v8.0.99\nBuild Info: {}")
		return
	}
	check(os.WriteFile(*logpath, []byte("stand-in starting\n"), 0o600))
	check(os.WriteFile(filepath.Join(*dbpath, "argv"), []byte(strings.Join(os.Args[1:], "\n")), 0o600))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", net.JoinHostPort(*bindIP, *port))
	check(err)
	check(null.Serve(ctx, ln, null.Options{}))
	check(os.WriteFile(filepath.Join(*dbpath, "clean"), nil, 0o600))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
