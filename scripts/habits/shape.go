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
	ast.Inspect(parsed, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			for _, key := range wrongKeys(call) {
				findings = append(findings, Finding{file, line(key.Pos()), "log key " + key.Value + ` of an error: write "err"`})
			}
		}
		return true
	})
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//nolint") {
				directives = append(directives, fmt.Sprintf("%s:%d", path.Clean(file), line(comment.Pos())))
			}
		}
	}
	return findings, directives
}

// wrongKeys returns the log keys of a call that belong to an error and are not "err".
func wrongKeys(call *ast.CallExpr) (keys []*ast.BasicLit) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, method.Sel.Name) {
		return nil
	}
	for i, argument := range call.Args[:max(0, len(call.Args)-1)] {
		key, ok := argument.(*ast.BasicLit)
		if ok && (key.Value == `"reason"` || key.Value == `"error"`) && isError(call.Args[i+1]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// isError reports whether an expression is an error, by its name.
func isError(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.EqualFold(e.Name, "err")
	case *ast.SelectorExpr:
		return e.Sel.Name == "Err"
	}
	return false
}
