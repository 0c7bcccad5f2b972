package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestSchemasAreInStepWithTheTypes(t *testing.T) {
	schemas, err := generate(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range schemas {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the types say: run go generate ./record/schema", name)
		}
	}
}
