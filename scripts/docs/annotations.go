package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	namesFile = "growth/gpushare/names.go"
	casesFile = "deploy/base/admission/testdata/cases.json"
)

// annotations is the user's contract as the source has it.
type annotations struct {
	Groups []nameGroup
	Cases  []admissionCase
}

// nameGroup is one block of constants with its comment.
type nameGroup struct {
	Title string
	Names []name
}

// name is one annotation, label or resource.
type name struct{ Value, Meaning string }

// admissionCase is one case of the table that tests both growth/gpushare and the admission policies.
type admissionCase struct {
	Name        string
	Annotations map[string]string
	Units       int
	Refused     string
}

func readAnnotations(root string) (annotations, error) {
	groups, err := nameGroups(filepath.Join(root, namesFile))
	if err != nil {
		return annotations{}, err
	}
	text, err := os.ReadFile(filepath.Join(root, casesFile))
	if err != nil {
		return annotations{}, err
	}
	var cases []admissionCase
	if err := json.Unmarshal(text, &cases); err != nil {
		return annotations{}, fmt.Errorf("%s: %w", casesFile, err)
	}
	return annotations{groups, cases}, nil
}

// nameGroups reads the constants whose value is a name of Kubernetes' kind, each with its comment.
func nameGroups(path string) ([]nameGroup, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var groups []nameGroup
	var invalid []error
	for _, decl := range file.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Doc == nil {
			continue
		}
		group := nameGroup{Title: oneLine(block.Doc.Text())}
		for _, spec := range block.Specs {
			constant, ok := spec.(*ast.ValueSpec)
			if !ok || len(constant.Values) != 1 {
				continue
			}
			value, ok := (scope{source: &source{}}).text(constant.Values[0])
			if !ok {
				continue
			}
			if constant.Doc == nil {
				invalid = append(invalid, fmt.Errorf("%s: constant %s has no comment", namesFile, constant.Names[0]))
				continue
			}
			group.Names = append(group.Names, name{value, sentence(constant.Names[0].Name, oneLine(constant.Doc.Text()))})
		}
		if len(group.Names) > 0 {
			groups = append(groups, group)
		}
	}
	return groups, errors.Join(invalid...)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// sentence removes the constant's name from the start of its comment.
func sentence(constant, comment string) string {
	text := strings.TrimPrefix(comment, constant+" ")
	text = strings.TrimPrefix(text, "is ")
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// known returns all names by value.
func (a annotations) known() map[string]bool {
	known := map[string]bool{}
	for _, group := range a.Groups {
		for _, n := range group.Names {
			known[n.Value] = true
		}
	}
	return known
}

func annotationsPage(a annotations) string {
	var page strings.Builder
	page.WriteString(heading("Annotations and labels", "`growth/gpushare` and the cases that test the admission policies"))
	page.WriteString("\nHow to use them is in [annotations](../annotations.md).\n")
	for _, group := range a.Groups {
		fmt.Fprintf(&page, "\n## %s\n\n", strings.TrimSuffix(group.Title, "."))
		page.WriteString(header("name", "meaning"))
		for _, n := range group.Names {
			page.WriteString(row(code(n.Value), plain(n.Meaning)))
		}
	}
	page.WriteString("\n## Values that are accepted\n\n")
	page.WriteString(header("case", "annotations", "units of GPU memory"))
	for _, c := range a.Cases {
		if c.Refused == "" {
			page.WriteString(row(c.Name, written(c.Annotations), fmt.Sprint(c.Units)))
		}
	}
	page.WriteString("\n## Values that are refused\n\n")
	page.WriteString(header("case", "annotations", "the message contains"))
	for _, c := range a.Cases {
		if c.Refused != "" {
			page.WriteString(row(c.Name, written(c.Annotations), c.Refused))
		}
	}
	return page.String()
}

// written shows annotations as a user writes them, shortened where a case is about length.
func written(annotations map[string]string) string {
	var lines []string
	for name, value := range annotations {
		text := name + ": " + fmt.Sprintf("%q", value)
		if len(text) > 100 {
			text = text[:100] + "…"
		}
		lines = append(lines, "`"+text+"`")
	}
	slices.Sort(lines)
	return strings.Join(lines, "<br>")
}
