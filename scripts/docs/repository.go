package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// repository is what a command may name.
type repository struct {
	root      string
	programs  map[string]program
	targets   map[string]bool
	makefile  string
	names     map[string]bool // annotations, labels, resources
	metrics   map[string]bool
	tests     map[string]bool
	manifests string // all of deploy/base
}

var target = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)

func readRepository(root string, programs []program) (repository, error) {
	r := repository{root: root, programs: map[string]program{}, targets: map[string]bool{}}
	for _, p := range programs {
		r.programs[p.Name] = p
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return r, err
	}
	r.makefile = string(makefile)
	for _, m := range target.FindAllStringSubmatch(r.makefile, -1) {
		r.targets[m[1]] = true
	}
	a, err := readAnnotations(root)
	if err != nil {
		return r, err
	}
	r.names = a.known()
	if r.metrics, err = metricNames(root); err != nil {
		return r, err
	}
	if r.tests, err = testNames(root); err != nil {
		return r, err
	}
	var manifests strings.Builder
	err = filepath.WalkDir(filepath.Join(root, "deploy", "base"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		manifests.Write(text)
		manifests.WriteString("\n---\n")
		return err
	})
	r.manifests = manifests.String()
	return r, err
}

func metricNames(root string) (map[string]bool, error) {
	sources, err := readSources(root)
	if err != nil {
		return nil, err
	}
	all, err := findMetrics(sources)
	names := map[string]bool{}
	for _, m := range all {
		names[m.Name] = true
	}
	return names, err
}
