package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "../..", "folder of the repository")
	check := flag.Bool("check", false, "write nothing, and fail if a page is out of date or a document is wrong")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	programs, err := describePrograms(root)
	if err != nil {
		return err
	}
	pages, err := referencePages(root, programs)
	if err != nil {
		return err
	}
	if !check {
		return writePages(root, pages)
	}
	var findings []error
	for path, page := range pages {
		if is, err := os.ReadFile(filepath.Join(root, path)); err != nil || !bytes.Equal(is, []byte(page)) {
			findings = append(findings, fmt.Errorf("%s is out of date: make docs writes it", path))
		}
	}
	more, err := checkDocuments(root, programs)
	if err != nil {
		return err
	}
	return errors.Join(append(findings, more...)...)
}

// referencePages returns the text of each generated page, and of the README with its table and chart, by its path.
func referencePages(root string, programs []program) (map[string]string, error) {
	sources, err := readSources(root)
	if err != nil {
		return nil, err
	}
	metrics, metricErr := findMetrics(sources)
	events, eventErr := findEvents(sources)
	annotations, annotationErr := readAnnotations(root)
	chartSVG, chartErr := chart(root)
	readme, readmeErr := readmeWithFigures(root)
	if err := errors.Join(metricErr, eventErr, annotationErr, chartErr, readmeErr); err != nil {
		return nil, err
	}
	return map[string]string{
		"docs/reference/flags.md":       flagsPage(programs),
		"docs/reference/annotations.md": annotationsPage(annotations),
		"docs/reference/metrics.md":     metricsPage(metrics),
		"docs/reference/events.md":      eventsPage(events),
		"docs/reference/packages.md":    packagesPage(sources),
		"docs/images/fifteen-jobs.svg":  chartSVG,
		"README.md":                     readme,
	}, nil
}

func writePages(root string, pages map[string]string) error {
	for path, page := range pages {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}
