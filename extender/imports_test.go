package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers are the packages of internal from top to bottom. A package imports only packages of lower layers.
var layers = [][]string{
	{"webhook", "reconcile"},
	{"scheduler", "mover", "gangs", "workers"},
	{"cache"},
	{"reservations"},
	{"apiserver", "recreate", "conflict", "gctune"},
	{"request", "fastpath", "podevents"},
}

// outsideThePath are packages outside the path of a request: they may import any layer, and no layer imports them.
var outsideThePath = []string{"config", "metrics", "probes", "clustertest", "modelcheck", "upstreamtest"}

const internal = "github.com/trellis-gpu/trellis/extender/internal/"

// TestImports_PointDownwards parses the imports of every package. Tests may import all packages.
func TestImports_PointDownwards(t *testing.T) {
	depth := map[string]int{}
	for i, layer := range layers {
		for _, name := range layer {
			depth[name] = i + 1
		}
	}
	folders, err := os.ReadDir("internal")
	require.NoError(t, err)
	for _, folder := range folders {
		name := folder.Name()
		at, layered := depth[name]
		if !layered {
			require.Contains(t, outsideThePath, name, "package %s is in no layer", name)
			continue
		}
		for imported, file := range importsOf(t, filepath.Join("internal", name)) {
			require.Greater(t, depth[imported], at, "%s imports %s, which is not below %s", file, imported, name)
		}
	}
}

// importsOf returns the packages of internal that a package imports, and for each a file that does.
func importsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	imports := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if name, ok := strings.CutPrefix(path, internal); ok {
				imports[name] = file
			}
		}
	}
	return imports
}
