package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	separator  = regexp.MustCompile(`\s(?:\||&&|;|\$\()\s?|;\s|\$\(`)
	comment    = regexp.MustCompile(`\s+#\s.*$`)
)

// command returns an error for each name in a line of shell that does not exist.
func (r repository) command(line string) (findings []error) {
	line = comment.ReplaceAllString(line, "")
	for _, part := range separator.Split(line, -1) {
		words := strings.Fields(strings.NewReplacer(`"`, "", "'", "", ")", "", "`", "").Replace(part))
		words = trimAssignments(words)
		if len(words) > 0 {
			findings = append(findings, r.simple(words)...)
		}
	}
	return findings
}

func trimAssignments(words []string) []string {
	for len(words) > 0 && (assignment.MatchString(words[0]) || words[0] == "sudo" || words[0] == "export") {
		words = words[1:]
	}
	return words
}

// simple checks one command without pipes.
func (r repository) simple(words []string) (findings []error) {
	name := strings.TrimPrefix(strings.TrimPrefix(words[0], "./"), "bin/")
	switch {
	case name == "make":
		findings = r.make(words[1:])
	case name == "kubectl":
		findings = r.kubectl(words[1:])
	case strings.HasPrefix(words[0], "bin/") || r.programs[name].Name != "":
		findings = r.program(name, words[1:])
	}
	for _, word := range words {
		findings = append(findings, r.path(word)...)
	}
	return findings
}

func (r repository) make(words []string) (findings []error) {
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			continue
		}
		variable, _, isVariable := strings.Cut(word, "=")
		switch {
		case isVariable && !regexp.MustCompile(`\b`+variable+`\b`).MatchString(r.makefile):
			findings = append(findings, fmt.Errorf("the Makefile has no variable %s", variable))
		case !isVariable && assignmentValue(word):
		case !isVariable && !r.targets[word]:
			findings = append(findings, fmt.Errorf("the Makefile has no target %s", word))
		}
	}
	return findings
}

// assignmentValue reports a word that continues the value of ARGS.
func assignmentValue(word string) bool {
	return !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(word)
}

// program checks the subcommand and the flags of one of ours.
func (r repository) program(name string, words []string) (findings []error) {
	p, ok := r.programs[name]
	if !ok {
		return []error{fmt.Errorf("there is no program %s", name)}
	}
	if len(words) > 0 && len(p.Commands) > 0 && !strings.HasPrefix(words[0], "-") {
		return r.program(name+" "+words[0], words[1:])
	}
	for _, word := range words {
		if word == "--" {
			break
		}
		flag, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !strings.HasPrefix(word, "-") || flag == "help" || flag == "version" {
			continue
		}
		if !slices.ContainsFunc(p.Flags, func(f flagUsage) bool { return f.Name == flag || f.Short == flag }) {
			findings = append(findings, fmt.Errorf("%s has no flag %s", name, word))
		}
	}
	return findings
}

var (
	workload = regexp.MustCompile(`^(?:deploy|deployment|ds|daemonset|sts|statefulset|svc|service)/([a-z-]+)$`)
	portPair = regexp.MustCompile(`^(?:\d+:)?(\d+)$`)
)

// kubectl checks the workloads, containers, ports and programs of Trellis that a command names.
func (r repository) kubectl(words []string) (findings []error) {
	ours := slices.Contains(words, "trellis")
	forwards := slices.Contains(words, "port-forward")
	for i, word := range words {
		if word == "--" {
			return append(findings, r.inside(words[:i], words[i+1:])...)
		}
		if !ours {
			continue
		}
		if m := workload.FindStringSubmatch(word); m != nil && !r.has(`name: `+m[1]) {
			findings = append(findings, fmt.Errorf("deploy/base has no %s", word))
		}
		if i > 0 && words[i-1] == "-c" && !r.has(`- name: `+word) {
			findings = append(findings, fmt.Errorf("deploy/base has no container %s", word))
		}
		if m := portPair.FindStringSubmatch(word); m != nil && forwards && !r.has(`[: ]`+m[1]) {
			findings = append(findings, fmt.Errorf("nothing of deploy/base listens on port %s", m[1]))
		}
	}
	return findings
}

// has reports whether the manifests contain an expression, followed by the end of a word.
func (r repository) has(expression string) bool {
	return regexp.MustCompile(expression + `\b`).MatchString(r.manifests)
}

// inside checks a program that kubectl exec runs. An image holds one program, at the root and with its own name.
func (r repository) inside(where, words []string) []error {
	if len(words) == 0 || !strings.HasPrefix(words[0], "/") {
		return nil
	}
	for _, p := range packages[:4] {
		if !strings.Contains(strings.Join(where, " "), p.name) {
			continue
		}
		if words[0] != "/"+p.name {
			return []error{fmt.Errorf("the program of %s is /%s, not %s", p.name, p.name, words[0])}
		}
		return r.program(p.name, words[1:])
	}
	return []error{fmt.Errorf("it is not clear whose %s this is: name the container", words[0])}
}

// path checks a word that is a path in the repository.
func (r repository) path(word string) []error {
	word = strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/")
	top, _, below := strings.Cut(word, "/")
	if !below || top == "" || strings.Contains(word, "$") || strings.HasPrefix(word, "benchmarks/results") {
		return nil
	}
	if info, err := os.Stat(filepath.Join(r.root, top)); err != nil || !info.IsDir() || top == "bin" || workload.MatchString(word) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(r.root, word)); err != nil {
		return []error{fmt.Errorf("there is no %s", word)}
	}
	return nil
}
