package main

import (
	"fmt"
	"slices"
	"strings"
)

// generated is the second paragraph of every page.
const generated = "`make docs` writes this page from %s. `make verify` fails while it is out of date.\n"

func heading(title, from string) string {
	return "# " + title + "\n\n" + fmt.Sprintf(generated, from)
}

// row formats one line of a table.
func row(cells ...string) string {
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(cell, "|", `\|`), "\n", " ")
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func header(cells ...string) string {
	return row(cells...) + strings.Repeat("|---", len(cells)) + "|\n"
}

// plain escapes what Markdown would read as a tag.
func plain(text string) string { return strings.ReplaceAll(text, "<", `\<`) }

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func flagsPage(programs []program) string {
	var page strings.Builder
	page.WriteString(heading("Flags", "the `--help` of each program"))
	page.WriteString(`
A flag also reads the environment variable in the same row. The flag overrides the variable. Every program also has
` + "`--help` and `--version`" + `. The first four programs run in a cluster. ` + "`benchmarks`, `local` and `trellis`" + ` are tools for your machine,
and their flags read ` + "`TRELLIS_` and their own name" + `.
`)
	for _, p := range programs {
		if len(p.Flags) == 0 {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n", p.Name)
		page.WriteString(header("flag", "environment variable", "default", "meaning"))
		for _, f := range p.Flags {
			name := "`--" + f.Name + "`"
			if f.Short != "" {
				name = "`-" + f.Short + "`, " + name
			}
			if f.Kind != "" {
				name += " " + f.Kind
			}
			page.WriteString(row(name, code(f.Variable), code(f.Default), plain(f.Help)))
		}
	}
	return page.String()
}

func metricsPage(metrics []metric) string {
	var page strings.Builder
	page.WriteString(heading("Metrics", "the calls that create Prometheus metrics"))
	page.WriteString(`
Each binary serves ` + "`/metrics`" + ` on its port named ` + "`health`" + `, along with Prometheus' own metrics of Go and of the process. What to
watch, and what to do, is in [operations](../operations.md#what-to-watch).
`)
	for _, module := range modules {
		of := slices.DeleteFunc(slices.Clone(metrics), func(m metric) bool { return m.Module != module })
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n", module)
		page.WriteString(header("metric", "type", "labels", "meaning"))
		for _, m := range of {
			labels := make([]string, len(m.Labels))
			for i, label := range m.Labels {
				labels[i] = code(label)
			}
			page.WriteString(row(code(m.Name), m.Kind, strings.Join(labels, ", "), plain(m.Help)))
		}
	}
	return page.String()
}

func eventsPage(events []explanation) string {
	var page strings.Builder
	page.WriteString(heading("Events", "the calls that record events, and a table of explanations"))
	page.WriteString(`
` + "`kubectl describe pod`" + ` and ` + "`kubectl describe node`" + ` show them. Events of scheduling, such as FailedScheduling, are kube-scheduler's own;
their messages quote the extender.
`)
	for _, binary := range []string{"extender", "deviceplugin", "coordinator", "tuner"} {
		of := slices.DeleteFunc(slices.Clone(events), func(e explanation) bool { return e.From != binary })
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n", binary)
		page.WriteString(header("reason", "type", "on", "meaning", "advice"))
		for _, e := range of {
			page.WriteString(row(code(e.Reason), e.Type, e.On, e.Meaning, e.Advice))
		}
	}
	return page.String()
}
