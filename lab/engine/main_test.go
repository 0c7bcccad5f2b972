package engine_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// The test binary is also the Plimsoll that gets killed: with helperVar set it starts one server and waits.
const helperVar = "PLIMSOLL_TEST_ENGINE_HELPER" // home, engine and data directory, one per line

func TestMain(m *testing.M) {
	if arg := os.Getenv(helperVar); arg != "" {
		os.Exit(helper(arg))
	}
	os.Exit(m.Run())
}

func helper(arg string) int {
	var home, name, binary string
	if _, err := fmt.Sscanf(arg, "%s\n%s\n%s", &home, &name, &binary); err != nil {
		fmt.Println(err)
		return 2
	}
	if binary == "-" {
		binary = ""
	}
	e, err := engine.ByName(home, name)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	s, err := e.Start(ctx, engine.StartOptions{Binary: binary})
	if err == nil {
		err = s.Wait(ctx)
	}
	if err != nil {
		fmt.Println("error:", err)
		return 2
	}
	fmt.Println(s.DataDir(), s.Pids())
	time.Sleep(time.Hour) // until it is killed
	return 0
}

// dial connects the official driver.
func dial(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(10 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Disconnect(t.Context()) }) // which has ended: nobody waits for a server that was killed
	return c
}
