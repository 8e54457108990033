package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	// testName matches a test with one of its cases: `TestTranscripts/gang`. The case is a part of its own.
	testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)(?:/([\\w-]+))?`")
)

// testNames returns all test functions of the repository.
func testNames(root string) (map[string]bool, error) {
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	return names, err
}

// tests returns the tests that the document names and that do not exist.
func (d document) tests(r repository) (findings []error) {
	for i, line := range d.Lines {
		for _, m := range testName.FindAllStringSubmatch(line, -1) {
			if !r.tests[m[1]] {
				findings = append(findings, fmt.Errorf("%d: there is no test %s", i+1, m[1]))
			}
			if m[1] != "TestTranscripts" || m[2] == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(r.root, "growth", "node", "testdata", m[2]+".txt")); err != nil {
				findings = append(findings, fmt.Errorf("%d: there is no transcript %s", i+1, m[2]))
			}
		}
	}
	return findings
}
