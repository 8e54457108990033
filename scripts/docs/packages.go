package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// modulePrefix begins the import path of every package of the project.
const modulePrefix = "github.com/trellis-gpu/trellis/"

// goPackage is a package with the packages of the project that it imports.
type goPackage struct {
	Path     string
	Synopsis string
	Imports  []string
	// Layer is 0 for a package that nothing in its module imports, else one more than that of its lowest importer.
	Layer int
}

// findPackages returns the packages of one module, from top to bottom.
func findPackages(sources []*source, module string) []goPackage {
	byPath := map[string]*goPackage{}
	for _, s := range sources {
		if s.Module == module && declares(s.Files) {
			byPath[s.Path] = &goPackage{Path: s.Path, Synopsis: synopsis(s.Files), Imports: imports(s.Files)}
		}
	}
	for range byPath { // the longest path has at most as many edges as there are packages
		for _, p := range byPath {
			for _, imported := range p.Imports {
				if below := byPath[imported]; below != nil {
					below.Layer = max(below.Layer, p.Layer+1)
				}
			}
		}
	}
	all := make([]goPackage, 0, len(byPath))
	for _, p := range byPath {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b goPackage) int {
		if a.Layer != b.Layer {
			return a.Layer - b.Layer
		}
		return strings.Compare(a.Path, b.Path)
	})
	return all
}

// declares reports whether a package has anything but its documentation. One that has not serves its tests alone.
func declares(files []*ast.File) bool {
	return slices.ContainsFunc(files, func(file *ast.File) bool { return len(file.Decls) > 0 })
}

// synopsis returns the first sentence of a package's documentation.
func synopsis(files []*ast.File) string {
	for _, file := range files {
		if file.Doc != nil {
			return strings.TrimSuffix(new(doc.Package).Synopsis(file.Doc.Text()), ":")
		}
	}
	return ""
}

// imports returns the packages of the project that the files import, relative to its root.
func imports(files []*ast.File) []string {
	found := map[string]bool{}
	for _, file := range files {
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if relative, ours := strings.CutPrefix(name, modulePrefix); err == nil && ours {
				found[relative] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// drawn returns the imports that a drawing needs: those within the module that no other import implies.
func drawn(p goPackage, module []goPackage) []string {
	reach := map[string]map[string]bool{} // everything below a package
	for _, q := range slices.Backward(module) {
		reach[q.Path] = map[string]bool{}
		for _, imported := range q.Imports {
			reach[q.Path][imported] = true
			maps.Copy(reach[q.Path], reach[imported])
		}
	}
	var direct []string
	for _, imported := range p.Imports {
		if reach[imported] == nil {
			continue // of another module
		}
		implied := slices.ContainsFunc(p.Imports, func(other string) bool { return reach[other][imported] })
		if !implied {
			direct = append(direct, imported)
		}
	}
	return direct
}

func packagesPage(sources []*source) string {
	var page strings.Builder
	page.WriteString(heading("Packages", "the imports of the source"))
	page.WriteString(`
An arrow points from a package to one that it imports. Arrows that others imply are left out, and so are imports of
` + "`growth`" + ` and ` + "`daemon`" + `, which every program has, and packages for tests. Each drawing reads from top to bottom, as a request
or a report passes.
`)
	for _, module := range modules {
		packages := findPackages(sources, module)
		fmt.Fprintf(&page, "\n## %s\n\n```mermaid\nflowchart TD\n", module)
		for _, p := range packages {
			fmt.Fprintf(&page, "  %s[\"%s\"]\n", nodeID(p.Path), label(p.Path, module))
		}
		for _, p := range packages {
			for _, imported := range drawn(p, packages) {
				fmt.Fprintf(&page, "  %s --> %s\n", nodeID(p.Path), nodeID(imported))
			}
		}
		page.WriteString("```\n\n" + header("package", "what it does"))
		for _, p := range packages {
			page.WriteString(row(code(p.Path), plain(p.Synopsis)))
		}
	}
	return page.String()
}

func nodeID(path string) string { return strings.NewReplacer("/", "_", "-", "_").Replace(path) }

// label is what a drawing calls a package: its path below the module's internal folder.
func label(folder, module string) string {
	if folder == module {
		return path.Base(module)
	}
	return strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(folder, module+"/"), "internal/"), "/", " / ")
}
