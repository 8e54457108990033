package main

import (
	"go/ast"
	"go/token"
	"strconv"
)

// scope resolves names: the arguments of a call first, the values of the package then.
type scope struct {
	source    *source
	arguments map[string][]ast.Expr
}

// text evaluates an expression of string constants; false if it depends on anything else.
func (s scope) text(expr ast.Expr) (string, bool) {
	switch e := expr.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return s.text(e.X)
	case *ast.BinaryExpr:
		left, leftOK := s.text(e.X)
		right, rightOK := s.text(e.Y)
		return left + right, e.Op == token.ADD && leftOK && rightOK
	case *ast.Ident:
		if argument, ok := s.arguments[e.Name]; ok && len(argument) == 1 {
			return scope{source: s.source}.text(argument[0])
		}
		if value, ok := s.source.values[e.Name]; ok {
			return scope{source: s.source}.text(value)
		}
	}
	return "", false
}

// list evaluates a slice of string constants, however it is put together.
func (s scope) list(expr ast.Expr) ([]string, bool) {
	switch e := expr.(type) {
	case *ast.CompositeLit:
		return s.texts(e.Elts)
	case *ast.CallExpr: // append(list, more...)
		if called(e) != "append" || len(e.Args) == 0 {
			return nil, false
		}
		head, ok := s.list(e.Args[0])
		if !ok {
			return nil, false
		}
		if e.Ellipsis.IsValid() {
			tail, ok := s.list(e.Args[1])
			return append(head, tail...), ok
		}
		tail, ok := s.texts(e.Args[1:])
		return append(head, tail...), ok
	case *ast.Ident:
		if e.Name == "nil" {
			return nil, true
		}
		if argument, ok := s.arguments[e.Name]; ok {
			return scope{source: s.source}.texts(argument)
		}
		if value, ok := s.source.values[e.Name]; ok {
			return scope{source: s.source}.list(value)
		}
	}
	return nil, false
}

func (s scope) texts(expressions []ast.Expr) (all []string, ok bool) {
	for _, expr := range expressions {
		text, ok := s.text(expr)
		if !ok {
			return nil, false
		}
		all = append(all, text)
	}
	return all, true
}

// scopes returns one scope for each call of the function that surrounds a node, and one without arguments if none does,
// or if the function's parameters do not matter.
func (s *source) scopes(node ast.Node, uses func(name string) bool) []scope {
	var inner *function
	for _, f := range s.functions() {
		if f.body != nil && f.body.Pos() <= node.Pos() && node.End() <= f.body.End() {
			if names, _ := parameters(f.kind); anyOf(names, uses) && (inner == nil || f.body.Pos() > inner.body.Pos()) {
				inner = &f
			}
		}
	}
	if inner == nil {
		return []scope{{source: s}}
	}
	names, variadic := parameters(inner.kind)
	var all []scope
	for _, call := range s.calls(inner.name) {
		arguments := map[string][]ast.Expr{}
		for i, name := range names {
			switch {
			case variadic && i == len(names)-1:
				arguments[name] = call.Args[min(i, len(call.Args)):]
			case i < len(call.Args):
				arguments[name] = call.Args[i : i+1]
			}
		}
		all = append(all, scope{source: s, arguments: arguments})
	}
	return all
}

func anyOf(names []string, is func(string) bool) bool {
	for _, name := range names {
		if is(name) {
			return true
		}
	}
	return false
}
