package kubernetes

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/deploy"
)

var update = flag.Bool("update", false, "write the golden files")

func settings() Settings {
	return Settings{Name: "agents", Namespace: "bench", Image: "registry.example/plimsoll:1.2", Agents: 4,
		Connect: "tls://192.0.2.9:4100", Token: "secret.print", CPU: "1", Memory: "512Mi"}
}

func TestManifest(t *testing.T) {
	creds := settings()
	creds.Creds = "-----BEGIN NATS USER JWT-----\nkey \"quoted\"\n"
	for name, s := range map[string]Settings{"token": settings(), "creds": creds} {
		got, err := Manifest(s)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s (run with -update if it should change):\n%s", golden, d)
		}
		objects, err := parse(s)
		if err != nil || len(objects) != 3 || objects[0].GetKind() != "Job" {
			t.Fatalf("objects: %v, %v; want the Job and two that belong to it", objects, err)
		}
		if text, _ := objects[1].Object["stringData"].(map[string]any); text["creds"] != s.Creds || text["token"] != s.Token {
			t.Errorf("the Secret has %v", text)
		}
	}
}

func TestManifestRefuses(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"name":      func(s *Settings) { s.Name = "a: b" },
		"namespace": func(s *Settings) { s.Namespace = "a\nb" },
		"address":   func(s *Settings) { s.Connect = "tls://a b" },
		"image":     func(s *Settings) { s.Image = "" },
		"agents":    func(s *Settings) { s.Agents = 0 },
		"secret":    func(s *Settings) { s.Token = "" },
		"cores":     func(s *Settings) { s.CPU = "many" },
	} {
		s := settings()
		change(&s)
		if _, err := Manifest(s); err == nil {
			t.Errorf("a wrong %s was accepted", name)
		}
	}
}

// The program renders the chart as Go's templates do, with and without each value.
func TestRendersAsTemplates(t *testing.T) {
	creds := settings()
	creds.Creds = "one \"line\"\n"
	for _, s := range []Settings{settings(), creds} {
		got, err := render(s.values())
		if err != nil {
			t.Fatal(err)
		}
		all, err := template.New("").Option("missingkey=error").ParseFS(deploy.Agents, chart+"/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for _, name := range []string{"job.yaml", "secret.yaml", "networkpolicy.yaml"} {
			want.WriteString("---\n")
			if err := all.ExecuteTemplate(&want, name, s.values()); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(want.String(), string(got)); d != "" {
			t.Error(d)
		}
	}
	if text, err := render(map[string]any{"Release": map[string]any{}}); err == nil {
		t.Errorf("without values it rendered\n%s", text)
	}
}

// Values with quotes, line ends and keys of YAML stay values. Helm checks the number of agents by the schema.
func TestHostileValues(t *testing.T) {
	hostile := "x\"\n            - --evil\n          securityContext: {privileged: true} # \\ '{{ .Values.token }}' \t: *a &b"
	values := settings().values()
	for name, v := range values["Values"].(map[string]any) {
		if _, text := v.(string); text {
			values["Values"].(map[string]any)[name] = name + hostile
		}
	}
	values["Release"] = map[string]any{"Name": "123", "Namespace": "true", "Service": "Service" + hostile}
	text, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		Kind     string
		Metadata struct {
			Name, Namespace any
			Labels          map[string]any
		}
		Spec struct {
			Template struct {
				Spec struct{ Containers []map[string]any }
			}
		}
	}
	documents := strings.Split(string(text), "---\n")[1:]
	if err := yaml.Unmarshal([]byte(documents[0]), &job); err != nil {
		t.Fatalf("%v\n%s", err, documents[0])
	}
	c := job.Spec.Template.Spec.Containers
	if len(c) != 1 || job.Metadata.Name != "123" || job.Metadata.Namespace != "true" ||
		job.Metadata.Labels["app.kubernetes.io/managed-by"] != "Service"+hostile {
		t.Fatalf("%+v", job)
	}
	limits := c[0]["resources"].(map[string]any)["limits"].(map[string]any)
	args := c[0]["args"].([]any)
	for what, pair := range map[string][2]any{"image": {c[0]["image"], "image" + hostile}, "cpu": {limits["cpu"], "cpu" + hostile},
		"memory": {limits["memory"], "memory" + hostile}, "connect": {args[1], "--connect=connect" + hostile},
		"number of arguments": {len(args), 5}, "privileged": {c[0]["securityContext"].(map[string]any)["privileged"], nil}} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, want %q", what, pair[0], pair[1])
		}
	}
	var secret struct {
		StringData map[string]string `yaml:"stringData"`
	}
	if err := yaml.Unmarshal([]byte(documents[1]), &secret); err != nil || secret.StringData["token"] != "token"+hostile ||
		secret.StringData["creds"] != "creds"+hostile || len(secret.StringData) != 2 {
		t.Errorf("%+v, %v", secret, err)
	}
	if err := yaml.Unmarshal([]byte(documents[2]), &job); err != nil || job.Kind != "NetworkPolicy" {
		t.Errorf("%v\n%s", err, documents[2])
	}
}

// TestChart checks that Helm renders the templates as the program does: they use what both define, and no functions of
// Helm.
func TestChart(t *testing.T) {
	text, err := fs.ReadFile(deploy.Agents, "helm/plimsoll-agents/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	ours := settings().values()
	want := map[string]bool{}
	for _, scope := range slices.Sorted(maps.Keys(ours)) {
		for name := range ours[scope].(map[string]any) {
			want["."+scope+"."+name] = true
		}
	}
	for name := range values {
		if !want[".Values."+name] {
			t.Errorf("values.yaml has %s, which the program does not set", name)
		}
	}
	for name := range ours["Values"].(map[string]any) {
		if _, ok := values[name]; !ok {
			t.Errorf("the program sets %s, which values.yaml does not have", name)
		}
	}
	files, err := fs.Glob(deploy.Agents, chart+"/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	action, word := regexp.MustCompile(`{{-? *(.*?) *-?}}`), regexp.MustCompile(`^(if|else|end|printf|"%q"|"--connect=%s"|\|)$`)
	used := map[string]bool{}
	for _, f := range files {
		text, err := fs.ReadFile(deploy.Agents, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range action.FindAllStringSubmatch(string(text), -1) {
			for _, w := range strings.Fields(a[1]) {
				if want[w] {
					used[w] = true
				} else if !word.MatchString(w) {
					t.Errorf("%s uses %s, which Helm and the program may render differently", f, w)
				}
			}
		}
	}
	if d := cmp.Diff(want, used); d != "" {
		t.Errorf("values that no template uses:\n%s", d)
	}
}
