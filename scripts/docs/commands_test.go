package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseHelp_ReadsFlagsAndCommands(t *testing.T) {
	p := parseHelp("x", `x does things.

Available Commands:
  help        Help about any command
  up          Bring it up

Flags:
  -o, --output string      how it prints: text or json [TRELLIS_OUTPUT] (default "text")
      --gpu-time           let shares rule
      --kube-qps float32   calls per second (default 200)
      --elect              be the leader; true in a pod and with
                           --kubeconfig [TRELLIS_ELECT]
                           (default false)
  -h, --help               help for x
`)
	want := []flagUsage{
		{Name: "output", Short: "o", Kind: "string", Variable: "TRELLIS_OUTPUT", Default: "text", Help: "how it prints: text or json"},
		{Name: "gpu-time", Help: "let shares rule"},
		{Name: "kube-qps", Kind: "float32", Default: "200", Help: "calls per second"},
		{Name: "elect", Variable: "TRELLIS_ELECT", Default: "false", Help: "be the leader; true in a pod and with --kubeconfig"},
	}
	if len(p.Flags) != len(want) {
		t.Fatalf("%d flags: %+v", len(p.Flags), p.Flags)
	}
	for i, f := range p.Flags {
		if f != want[i] {
			t.Errorf("got %+v, want %+v", f, want[i])
		}
	}
	if len(p.Commands) != 1 || p.Commands[0] != "up" {
		t.Errorf("commands: %v", p.Commands)
	}
}

// example is a repository with one program, one target and one workload.
func example(t *testing.T) repository {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"scripts", "bin"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return repository{
		root: root,
		programs: map[string]program{
			"coordinator": {Name: "coordinator", Flags: []flagUsage{{Name: "explain"}, {Name: "output", Short: "o"}}},
			"local":       {Name: "local", Commands: []string{"up"}},
			"local up":    {Name: "local up", Flags: []flagUsage{{Name: "nodes"}}},
		},
		targets:   map[string]bool{"demo": true},
		makefile:  "ARGS ?=\n\ndemo: build",
		manifests: "kind: DaemonSet\nmetadata:\n  name: coordinator\n      containers:\n      - name: coordinator\n        - {name: health, containerPort: 9442}\n",
	}
}

func TestCommand_NamesWhatDoesNotExist(t *testing.T) {
	for line, finding := range map[string]string{
		"make demo ARGS=--compare":          "",
		"KUBECONFIG=x make demo   # a note": "",
		"make demon":                        "no target demon",
		"make demo ARG=1":                   "no variable ARG",
		"bin/local up --nodes 2":            "",
		"bin/local up --node 2":             "local up has no flag --node",
		"bin/local upp":                     "no program local upp",
		"bin/other":                         "no program other",
		"scripts/none | kubectl apply -f -": "there is no scripts/none",
		"kubectl exec -n trellis ds/coordinator -- /coordinator --explain a/b":  "",
		"kubectl exec -n trellis ds/coordinator -- /coordinator --explains a/b": "coordinator has no flag --explains",
		"kubectl exec -n trellis ds/coordinator -- /program --explain a/b":      "the program of coordinator is /coordinator",
		"kubectl logs -n trellis ds/coordinate":                                 "deploy/base has no ds/coordinate",
		"kubectl logs -n trellis ds/coordinator -c other":                       "deploy/base has no container other",
		"kubectl port-forward -n trellis ds/coordinator 9442":                   "",
		"kubectl port-forward -n trellis ds/coordinator 9443":                   "nothing of deploy/base listens on port 9443",
	} {
		findings := example(t).command(line)
		switch {
		case finding == "" && len(findings) > 0:
			t.Errorf("%s: %v", line, findings)
		case finding != "" && (len(findings) == 0 || !strings.Contains(findings[0].Error(), finding)):
			t.Errorf("%s: %v, should contain %q", line, findings, finding)
		}
	}
}

func TestDocument_LinksAndCommands(t *testing.T) {
	r := example(t)
	if err := os.WriteFile(filepath.Join(r.root, "b.md"), []byte("# What to watch, and why\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := document{Path: "a.md", Lines: strings.Split("[b](b.md#what-to-watch-and-why) `[x](y)` [c](c.md)\n[b](b.md#none)", "\n")}
	findings := d.links(r.root)
	if len(findings) != 2 || !strings.Contains(findings[0].Error(), "1: the link c.md") || !strings.Contains(findings[1].Error(), "2: b.md has no heading") {
		t.Errorf("links: %v", findings)
	}
	d.Lines = strings.Split("```console\n$ make demo \\\n    ARG=1\noutput\n```\n$ make none\n`make other`\n\n    make third\n```sh\nmake fourth\n```", "\n")
	findings = d.commands(r)
	want := []string{
		"2: the Makefile has no variable ARG",
		"9: the Makefile has no target third",
		"11: the Makefile has no target fourth",
		"7: the Makefile has no target other",
	}
	if len(findings) != len(want) {
		t.Fatalf("commands: %v", findings)
	}
	for i, finding := range findings {
		if finding.Error() != want[i] {
			t.Errorf("got %q, want %q", finding, want[i])
		}
	}
}

func TestDocument_NamesOfAnnotationsAndMetrics(t *testing.T) {
	r := repository{
		names:   map[string]bool{"gpushare/gpu-mem": true},
		metrics: map[string]bool{"trellis_tuner_jobs": true},
	}
	d := document{Lines: []string{
		"`gpushare/gpu-mem` growth/gpushare/names.go `trellis_tuner_jobs`, all of `trellis_extender_`",
		"`gpushare/gpu-memory: 8` `trellis_tuner_job`",
	}}
	findings := d.names(r)
	if len(findings) != 2 || !strings.Contains(findings[0].Error(), "2: there is no annotation, label or resource gpushare/gpu-memory") ||
		!strings.Contains(findings[1].Error(), "2: there is no metric trellis_tuner_job") {
		t.Errorf("findings: %v", findings)
	}
}
