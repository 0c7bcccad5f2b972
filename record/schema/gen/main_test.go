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
			t.Errorf("%s does not match the types: run go generate ./record/schema", name)
		}
	}
}
