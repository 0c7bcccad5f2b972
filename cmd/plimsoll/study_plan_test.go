package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// sections cuts a template into the lines that belong to each top-level key of a type, commented out or not.
func sections(template []byte, typ reflect.Type) map[string]string {
	key := regexp.MustCompile(`^(?:# )?([a-z_]+):(?: |$)`)
	out, at := map[string]string{}, ""
	for line := range strings.SplitSeq(string(template), "\n") {
		// Prose may begin with a word and a colon as well; only keys of the type begin a section.
		if m := key.FindStringSubmatch(line); m != nil && hasKey(typ, m[1]) {
			at = m[1]
		}
		out[at] += line + "\n"
	}
	return out
}

func hasKey(t reflect.Type, name string) bool {
	for i := range t.NumField() {
		if yamlKey(t.Field(i)) == name {
			return true
		}
	}
	return false
}

func yamlKey(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// notForUsers are keys of a study that plimsoll writes into a record: nobody sets them in a file.
var notForUsers = []string{"floors", "instead", "scale.applied", "run.workload.file.path", "run.workload.file.text"}

// Every key that a study has is in the template, with a word on it or an example.
func TestTemplateHasEveryKey(t *testing.T) {
	hasEveryKey(t, "study", studyTemplate, reflect.TypeFor[spec.Study]())
	if !bytes.Contains(studyTemplate, []byte("plimsoll lab init")) { // that template has the keys of a lab
		t.Error("the template of a study does not say where the keys of a lab are explained")
	}
}

// hasEveryKey checks that a template has every key of a type.
func hasEveryKey(t *testing.T, what string, template []byte, of reflect.Type) {
	t.Helper()
	all := sections(template, of)
	var look func(typ reflect.Type, path, text string)
	look = func(typ reflect.Type, path, text string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for i := range typ.NumField() {
			name, part := yamlKey(typ.Field(i)), text
			at := strings.TrimPrefix(path+"."+name, ".")
			if what == "study" && slices.Contains(notForUsers, at) {
				continue
			}
			if path == "" {
				part = all[name]
			}
			if !regexp.MustCompile(`(?m)(^|[ {])` + name + `:( |$)`).MatchString(part) {
				t.Errorf("the template of a %s says nothing of %s", what, at)
			}
			if at != "lab" {
				look(typ.Field(i).Type, at, part)
			}
		}
	}
	look(of, "", "")
}

// The template is a study that can be run, fits its schema, and shows defaults where it says so.
func TestTemplateIsAStudy(t *testing.T) {
	asked, err := spec.ReadStudy(bytes.NewReader(studyTemplate))
	if err != nil {
		t.Fatal(err)
	}
	if asked, err = study.Complete(asked); err != nil {
		t.Fatal(err)
	}
	if _, err := study.NewPlan(asked, planOptions(t.Context(), &environment{getenv: os.Getenv})); err != nil {
		t.Error(err)
	}
	fitsSchema(t, "the template", studyTemplate, schema.StudySpec)
}

// Each optional part of the template can be used as it is shown.
func TestTemplateWithoutItsComments(t *testing.T) {
	all := sections(studyTemplate, reflect.TypeFor[spec.Study]())
	for _, name := range []string{"procedures", "labels", "objectives", "metrics", "canary", "reload", "deadline", "confidence", "out", "published", "scale", "lab"} {
		text := regexp.MustCompile(`(?m)^# ?`).ReplaceAllString(all[name], "")
		text = text[strings.Index(text, name+":"):]
		if end := regexp.MustCompile(`(?m)^[A-Z]`).FindStringIndex(text); end != nil {
			text = text[:end[0]] // the prose about the next key
		}
		if _, err := spec.ReadStudy(strings.NewReader(text)); err != nil {
			t.Errorf("%s, without the signs of a comment: %v\n%s", name, err, text)
		}
	}
}

// fitsSchema holds a text in YAML against a schema.
func fitsSchema(t *testing.T, name string, text, against []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(against))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s does not fit the schema: %v", name, err)
	}
}

// Every example can be planned within a quarter of an hour, and fits the schema. Its text names it as its file.
func TestExamplesCanBePlanned(t *testing.T) {
	files, err := filepath.Glob("../../examples/study/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("only %v (%v)", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := spec.ReadStudy(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		fitsSchema(t, file, text, schema.StudySpec)
		if _, installed := os.LookupEnv("PLIMSOLL_REQUIRE_ENGINE"); asked.Lab != nil && !installed {
			continue // the plan of a lab asks the engine that would be started
		}
		(&engineFlags{}).choose(t.Context(), &environment{getenv: os.Getenv}, asked.Lab)
		if asked, err = study.Complete(asked); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		p, err := study.NewPlan(asked, planOptions(t.Context(), &environment{getenv: os.Getenv}))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if s := p.Estimate.Seconds; s > 15*60 {
			t.Errorf("%s takes %s", file, p.Estimate.Text())
		}
		fmt.Fprintf(t.Output(), "%s: %s\n", file, p.Estimate.Text())
	}
}
