package main

import (
	"slices"
	"testing"
)

func TestFindPackages_TopToBottom(t *testing.T) {
	sources, err := readSources("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range modules {
		packages := findPackages(sources, module)
		seen := map[string]bool{}
		for _, p := range packages {
			for _, imported := range p.Imports {
				if seen[imported] {
					t.Errorf("%s imports %s, which stands above it", p.Path, imported)
				}
			}
			seen[p.Path] = true
			if p.Synopsis == "" {
				t.Errorf("%s has no package comment", p.Path)
			}
		}
	}
}

func TestDrawn_OmitsImpliedImports(t *testing.T) {
	module := []goPackage{
		{Path: "a", Imports: []string{"b", "c", "other/module"}},
		{Path: "b", Imports: []string{"c"}},
		{Path: "c"},
	}
	if got := drawn(module[0], module); !slices.Equal(got, []string{"b"}) {
		t.Errorf("drawn imports of a: %v, want only b, which implies c", got)
	}
}
