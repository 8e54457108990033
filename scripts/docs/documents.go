package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// document is one Markdown file, or a dashboard of the samples, of which only the names are checked.
type document struct {
	Path  string
	Lines []string
}

// dashboards matches the paths of dashboards.
const dashboards = "deploy/samples/grafana-*.json"

// readDocuments returns all documents of the repository.
func readDocuments(root string) ([]document, error) {
	var all []document
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || slices.Contains([]string{"bin", "results", "testdata"}, entry.Name())) {
			return filepath.SkipDir
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		dashboard, _ := filepath.Match(dashboards, filepath.ToSlash(relative))
		if entry.IsDir() || filepath.Ext(path) != ".md" && !dashboard {
			return nil
		}
		text, err := os.ReadFile(path)
		all = append(all, document{relative, strings.Split(string(text), "\n")})
		return err
	})
	return all, err
}

// checkDocuments returns what is wrong with the documents: dead links, unknown annotations and tests, commands that
// cannot run.
func checkDocuments(root string, programs []program) ([]error, error) {
	documents, err := readDocuments(root)
	if err != nil {
		return nil, err
	}
	repository, err := readRepository(root, programs)
	if err != nil {
		return nil, err
	}
	var findings []error
	for _, d := range documents {
		of := d.names(repository)
		if filepath.Ext(d.Path) == ".md" {
			of = slices.Concat(of, d.links(root), d.tests(repository), d.commands(repository))
		}
		for _, finding := range of {
			findings = append(findings, fmt.Errorf("%s:%w", d.Path, finding))
		}
	}
	return findings, nil
}

var (
	// link matches [text](target) and ![text](target).
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	metricName = regexp.MustCompile(`\btrellis_(?:extender|deviceplugin|coordinator|tuner|job)_[a-z_]*[a-z]\b`)
	annotation = regexp.MustCompile(`(^|[^\w/.-])(gpushare/[a-z][a-z-]*)`)
)

// links returns the relative links that lead nowhere.
func (d document) links(root string) (findings []error) {
	for i, line := range d.Lines {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			path := filepath.Join(root, d.Path)
			if target != "" {
				path = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(path); err != nil {
				findings = append(findings, fmt.Errorf("%d: the link %s leads nowhere", i+1, m[1]))
			} else if anchor != "" && !hasAnchor(path, anchor) {
				findings = append(findings, fmt.Errorf("%d: %s has no heading for the link %s", i+1, filepath.Base(path), m[1]))
			}
		}
	}
	return findings
}

// notInAnchor matches the characters that an anchor drops from its heading.
var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func hasAnchor(path, anchor string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		title := strings.TrimLeft(line, "#")
		if title == line {
			continue
		}
		title = notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		if strings.ReplaceAll(title, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// names returns the names below gpushare/, and of metrics, that the project does not have.
func (d document) names(r repository) (findings []error) {
	for i, line := range d.Lines {
		for _, m := range annotation.FindAllStringSubmatch(line, -1) {
			if !r.names[m[2]] {
				findings = append(findings, fmt.Errorf("%d: there is no annotation, label or resource %s", i+1, m[2]))
			}
		}
		for _, name := range metricName.FindAllString(line, -1) {
			if !r.metrics[strings.TrimSuffix(name, "_bucket")] {
				findings = append(findings, fmt.Errorf("%d: there is no metric %s", i+1, name))
			}
		}
	}
	return findings
}

// consoleLine is one command of a console block.
type consoleLine struct {
	line int
	text string
}

// console returns the commands of the document: in a block of the language console the lines after "$ ", in a block of the
// language sh all lines, elsewhere indented lines that start as a command of this project does. A command goes on after a
// backslash.
func (d document) console() (all []consoleLine) {
	language, continued := "", false
	for i, line := range d.Lines {
		text := strings.TrimSpace(line)
		if fence, ok := strings.CutPrefix(text, "```"); ok {
			if language != "" {
				fence = ""
			} else if fence == "" {
				fence = "text"
			}
			language, continued = fence, false
			continue
		}
		if continued {
			last := &all[len(all)-1]
			last.text = strings.TrimSuffix(last.text, `\`) + " " + text
		} else if command, ok := commandOf(language, line); ok {
			all = append(all, consoleLine{i + 1, command})
			continued = true
		}
		continued = continued && strings.HasSuffix(text, `\`)
	}
	return all
}

// indented matches an indented line that is a command.
var indented = regexp.MustCompile(`^ {4}((?:make|kubectl|bin/\S+|scripts/\S+)\s.*)$`)

// commandOf returns the command on a line of a block.
func commandOf(language, line string) (string, bool) {
	switch language {
	case "console":
		return strings.CutPrefix(strings.TrimSpace(line), "$ ")
	case "sh", "bash":
		text := strings.TrimSpace(line)
		return text, text != "" && !strings.HasPrefix(text, "#")
	case "":
		if m := indented.FindStringSubmatch(line); m != nil {
			return m[1], true
		}
	}
	return "", false
}

// commands returns an error for each name in a console block, and each target of make in the text, that does not exist.
func (d document) commands(r repository) (findings []error) {
	for _, c := range d.console() {
		for _, finding := range r.command(c.text) {
			findings = append(findings, fmt.Errorf("%d: %w", c.line, finding))
		}
	}
	for i, line := range d.Lines {
		for _, m := range inlineMake.FindAllStringSubmatch(line, -1) {
			if !r.targets[m[1]] {
				findings = append(findings, fmt.Errorf("%d: the Makefile has no target %s", i+1, m[1]))
			}
		}
	}
	return findings
}

// inlineMake matches a command of make in a line of text.
var inlineMake = regexp.MustCompile("`(?:[A-Z]+=\\S+ )?make ([a-z][a-z0-9-]*)")
