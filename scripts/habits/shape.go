package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// tallest is how many lines a function may have.
const tallest = 80

// vague are names of packages that say nothing about what is inside.
var vague = []string{"util", "utils", "common", "helper", "helpers", "manager", "types"}

// goShape checks the functions and names of a Go file, and lists its nolint directives.
func goShape(file string, content []byte) (findings []Finding, directives []string) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, content, parser.ParseComments)
	if err != nil {
		return []Finding{{Path: file, Line: 1, Text: err.Error()}}, nil
	}
	line := func(pos token.Pos) int { return fset.Position(pos).Line }
	if name := strings.TrimSuffix(parsed.Name.Name, "_test"); slices.Contains(vague, name) {
		findings = append(findings, Finding{file, line(parsed.Name.Pos()), fmt.Sprintf("package %s: name it after what it does", name)})
	}
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name, begin := function.Name.Name, line(function.Pos())
		if lines := line(function.End()) - begin + 1; lines > tallest {
			findings = append(findings, Finding{file, begin, fmt.Sprintf("%s has %d lines: %d at most", name, lines, tallest)})
		}
	}
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//nolint") {
				directives = append(directives, fmt.Sprintf("%s:%d", path.Clean(file), line(comment.Pos())))
			}
		}
	}
	return findings, directives
}
