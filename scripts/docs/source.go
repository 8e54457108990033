package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// source is one package of one of the binaries.
type source struct {
	// Module is the top folder: "extender".
	Module string
	// Path is the folder, relative to the root of the repository.
	Path  string
	Files []*ast.File
	set   *token.FileSet
	// values maps the package's constants and variables to their expressions.
	values map[string]ast.Expr
}

// modules lists the folders whose metrics and events reach a cluster.
var modules = []string{"extender", "deviceplugin", "coordinator", "tuner", "daemon", "growth"}

// readSources parses all packages of the binaries, without tests and fakes.
func readSources(root string) ([]*source, error) {
	var all []*source
	for _, module := range modules {
		byFolder := map[string]*source{}
		err := filepath.WalkDir(filepath.Join(root, module), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && skipped(entry.Name()):
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			folder := filepath.Dir(path)
			if byFolder[folder] == nil {
				relative, err := filepath.Rel(root, folder)
				if err != nil {
					return err
				}
				byFolder[folder] = &source{Module: module, Path: relative, set: token.NewFileSet(), values: map[string]ast.Expr{}}
				all = append(all, byFolder[folder])
			}
			return byFolder[folder].parse(path)
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// skipped reports folders without code that runs in a cluster. A package whose name ends in "test" serves tests.
func skipped(folder string) bool {
	return folder == "testdata" || folder == "e2e" || folder == "contract" || strings.HasSuffix(folder, "test")
}

func (s *source) parse(path string) error {
	file, err := parser.ParseFile(s.set, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	s.Files = append(s.Files, file)
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for i, value := range v.Values {
					s.values[v.Names[i].Name] = value
				}
			}
		}
	}
	return nil
}

// where returns the position of a node, with a path relative to the repository.
func (s *source) where(node ast.Node) string {
	at := s.set.Position(node.Pos())
	at.Filename = filepath.Join(s.Path, filepath.Base(at.Filename))
	at.Column = 0
	return at.String()
}

// function is a function or a closure that has a name.
type function struct {
	name string
	kind *ast.FuncType
	body *ast.BlockStmt
}

// functions returns the declared functions of the package and the closures that variables hold.
func (s *source) functions() (all []function) {
	for _, file := range s.Files {
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.FuncDecl:
				all = append(all, function{n.Name.Name, n.Type, n.Body})
			case *ast.AssignStmt:
				for i, value := range n.Rhs {
					if closure, ok := value.(*ast.FuncLit); ok && len(n.Lhs) == len(n.Rhs) {
						if name, ok := n.Lhs[i].(*ast.Ident); ok {
							all = append(all, function{name.Name, closure.Type, closure.Body})
						}
					}
				}
			}
			return true
		})
	}
	return all
}

// calls returns the calls of a function or a method by its name.
func (s *source) calls(name string) (all []*ast.CallExpr) {
	for _, file := range s.Files {
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok && called(call) == name {
				all = append(all, call)
			}
			return true
		})
	}
	return all
}

// called returns the name of the function or the method that a call names.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// parameters returns the names of a function's parameters in order, and whether the last one is variadic.
func parameters(kind *ast.FuncType) (names []string, variadic bool) {
	for _, field := range kind.Params.List {
		_, variadic = field.Type.(*ast.Ellipsis)
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names, variadic
}
