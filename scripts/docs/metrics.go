package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// metric is one metric family.
type metric struct {
	Module, Name, Kind, Help string
	Labels                   []string
}

// constructor matches the functions of client_golang that create a metric from options.
var constructor = regexp.MustCompile(`^New(Counter|Gauge|Histogram|Summary)(Vec|Func)?$`)

// findMetrics returns all metrics that the sources create, by name. A metric without help is an error, and so is one whose
// name depends on more than constants.
func findMetrics(sources []*source) ([]metric, error) {
	var all []metric
	var invalid []error
	for _, s := range sources {
		for _, file := range s.Files {
			ast.Inspect(file, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok {
					found, err := s.metrics(call)
					all = append(all, found...)
					if err != nil {
						invalid = append(invalid, err)
					}
				}
				return true
			})
		}
	}
	for _, m := range all {
		if len(strings.Fields(m.Help)) < 2 {
			invalid = append(invalid, fmt.Errorf("metric %s has no help", m.Name))
		}
	}
	slices.SortFunc(all, func(a, b metric) int {
		return cmp.Or(cmp.Compare(slices.Index(modules, a.Module), slices.Index(modules, b.Module)), cmp.Compare(a.Name, b.Name))
	})
	return all, errors.Join(invalid...)
}

// metrics returns the metrics that a call creates: several if it is in a function that is called several times.
func (s *source) metrics(call *ast.CallExpr) ([]metric, error) {
	name, help, labels, kind := parts(call)
	if name == nil {
		return nil, nil
	}
	mentioned := map[string]bool{}
	for _, part := range append([]ast.Expr{name, help}, labels...) {
		if part != nil {
			ast.Inspect(part, func(node ast.Node) bool {
				if id, ok := node.(*ast.Ident); ok {
					mentioned[id.Name] = true
				}
				return true
			})
		}
	}
	var all []metric
	for _, in := range s.scopes(call, func(parameter string) bool { return mentioned[parameter] }) {
		m := metric{Module: s.Module, Kind: kind}
		var named, explained bool
		m.Name, named = in.text(name)
		m.Help, explained = in.text(help)
		if !named || !explained {
			return nil, fmt.Errorf("%s: the metric's name and help must be constants", s.where(call))
		}
		for _, part := range labels {
			names, ok := in.list(part)
			if !ok {
				return nil, fmt.Errorf("%s: the labels of %s must be constants", s.where(call), m.Name)
			}
			m.Labels = append(m.Labels, names...)
		}
		if m.Kind == "" { // a description has no type; its suffix determines it
			m.Kind = "gauge"
			if strings.HasSuffix(m.Name, "_total") {
				m.Kind = "counter"
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// parts returns the expressions of a metric's name, help and labels; no name if the call creates none.
func parts(call *ast.CallExpr) (name, help ast.Expr, labels []ast.Expr, kind string) {
	function := called(call)
	if function == "NewDesc" && len(call.Args) == 4 {
		return call.Args[0], call.Args[1], call.Args[2:3], ""
	}
	m := constructor.FindStringSubmatch(function)
	if m == nil || len(call.Args) == 0 {
		return nil, nil, nil, ""
	}
	options, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return nil, nil, nil, ""
	}
	for _, element := range options.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key, _ := pair.Key.(*ast.Ident); key.Name {
		case "Name":
			name = pair.Value
		case "Help":
			help = pair.Value
		case "ConstLabels":
			if labelMap, ok := pair.Value.(*ast.CompositeLit); ok {
				labels = append(labels, keys(labelMap))
			}
		}
	}
	if m[2] == "Vec" && len(call.Args) > 1 {
		labels = append(labels, call.Args[1])
	}
	return name, help, labels, strings.ToLower(m[1])
}

// keys returns the keys of a map literal as a list.
func keys(literal *ast.CompositeLit) ast.Expr {
	list := &ast.CompositeLit{}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			list.Elts = append(list.Elts, pair.Key)
		}
	}
	return list
}
