package main

import (
	"errors"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// found is an event that the source records.
type found struct {
	Reason, Module, Where string
}

// eventReason matches the reason of an event: a word in upper camel case.
var eventReason = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)

// findEvents returns the explained events that the sources record. An event without an explanation is an error, and so is
// an explanation without an event.
func findEvents(sources []*source) ([]explanation, error) {
	recorded := map[string]found{}
	positions := reasonPositions(sources)
	for _, s := range sources {
		for _, file := range s.Files {
			ast.Inspect(file, func(node ast.Node) bool {
				if reason, ok := s.reason(node, positions); ok {
					recorded[reason] = found{reason, s.Module, s.where(node)}
				}
				return true
			})
		}
	}
	return explain(recorded, explanations)
}

// explain matches events and explanations.
func explain(recorded map[string]found, explanations []explanation) ([]explanation, error) {
	var invalid []error
	var all []explanation
	for _, e := range explanations {
		if _, ok := recorded[e.Reason]; !ok {
			invalid = append(invalid, fmt.Errorf("no code records the event %s: remove it from eventtable.go", e.Reason))
		}
		if e.Meaning == "" || e.Advice == "" {
			invalid = append(invalid, fmt.Errorf("event %s needs a meaning and advice", e.Reason))
		}
		delete(recorded, e.Reason)
		all = append(all, e)
	}
	for _, f := range recorded {
		invalid = append(invalid, fmt.Errorf("%s: eventtable.go has no explanation of the event %s", f.Where, f.Reason))
	}
	slices.SortFunc(invalid, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return all, errors.Join(invalid...)
}

// reasonPositions maps the functions that record events to the position of their parameter "reason". They are those that
// also have a parameter "message", and those that pass a reason on to one of these.
func reasonPositions(sources []*source) map[string]int {
	positions := map[string]int{}
	for _, s := range sources {
		for _, f := range s.functions() {
			names, _ := parameters(f.kind)
			if at := slices.Index(names, "reason"); at >= 0 && slices.Contains(names, "message") {
				positions[f.name] = at
			}
		}
	}
	for _, s := range sources {
		for _, f := range s.functions() {
			names, _ := parameters(f.kind)
			at := slices.Index(names, "reason")
			if at < 0 || f.body == nil {
				continue
			}
			ast.Inspect(f.body, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && passes(call, positions, "reason") {
					positions[f.name] = at
				}
				return true
			})
		}
	}
	return positions
}

// passes reports whether a call hands a variable on as the reason of an event.
func passes(call *ast.CallExpr, positions map[string]int, variable string) bool {
	at, ok := positions[called(call)]
	if !ok || at >= len(call.Args) {
		return false
	}
	id, ok := call.Args[at].(*ast.Ident)
	return ok && id.Name == variable
}

// reason returns the reason of the event that a node records. "Resize*" stands for a reason that goes on with what
// Kubernetes says.
func (s *source) reason(node ast.Node, positions map[string]int) (string, bool) {
	var expr ast.Expr
	switch n := node.(type) {
	case *ast.CallExpr:
		if at, ok := positions[called(n)]; ok && at < len(n.Args) {
			expr = n.Args[at]
		}
	case *ast.CompositeLit:
		expr = eventLiteral(n)
	}
	if expr == nil {
		return "", false
	}
	if sum, ok := expr.(*ast.BinaryExpr); ok {
		start, ok := scope{source: s}.text(sum.X)
		return start + "*", ok && eventReason.MatchString(start)
	}
	reason, ok := scope{source: s}.text(expr)
	return reason, ok && eventReason.MatchString(reason)
}

// eventLiteral returns the field Reason of a literal of a type Event.
func eventLiteral(literal *ast.CompositeLit) ast.Expr {
	name := ""
	switch t := literal.Type.(type) {
	case *ast.SelectorExpr:
		name = t.Sel.Name
	case *ast.Ident:
		name = t.Name
	}
	if name != "Event" && name != "PodEvent" {
		return nil
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Reason" {
				return pair.Value
			}
		}
	}
	return nil
}
