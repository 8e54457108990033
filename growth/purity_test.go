package growth_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// module is the import path prefix of this module's packages. They may import one another.
const module = "github.com/trellis-gpu/trellis/growth"

// impure lists the standard library packages that give access to state outside the process or to randomness.
var impure = []string{
	"os", "net", "log", "syscall", "runtime", "plugin", "unsafe", "database/sql", "io/ioutil", "math/rand", "crypto/rand",
}

// numerics lists the packages of gonum that compute without state. Random numbers of its distributions are forbidden by .golangci.yml.
var numerics = []string{"gonum.org/v1/gonum/floats", "gonum.org/v1/gonum/stat", "gonum.org/v1/gonum/stat/distuv"}

// TestImports_ArePure parses the imports of every file in this module. It does so in this process because the test
// cache does not see what a subprocess reads: a new import would pass as "ok (cached)".
func TestImports_ArePure(t *testing.T) {
	for _, leak := range leaks(t, os.DirFS(".")) {
		t.Error(leak)
	}
}

// TestLeaks_FindsEveryKindOfImpureImport checks the check itself: one file with an impure import of each kind.
func TestLeaks_FindsEveryKindOfImpureImport(t *testing.T) {
	for name, src := range map[string]string{
		"third party":    `import _ "go.uber.org/zap"`,
		"file system":    `import _ "os"`,
		"a subpackage":   `import _ "net/http"`,
		"a logger":       `import _ "log/slog"`,
		"another module": `import _ "github.com/trellis-gpu/trellis/daemon/etcdbus"`,
		"randomness":     `import _ "math/rand/v2"`,
		"more of gonum":  `import _ "gonum.org/v1/gonum/stat/sampleuv"`,
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{"flowcon/planted.go": {Data: []byte("package flowcon\n" + src)}}
			if len(leaks(t, tree)) != 1 {
				t.Errorf("%s was not reported", src)
			}
		})
	}
	legitimate := fstest.MapFS{
		"flowcon/fine.go":      {Data: []byte("package flowcon\nimport (_ \"math\"; _ \"time\"; _ \"gonum.org/v1/gonum/stat\"; _ \"" + module + "/bus\")")},
		"flowcon/fine_test.go": {Data: []byte("package flowcon\nimport _ \"os\"")},
	}
	if got := leaks(t, legitimate); len(got) != 0 {
		t.Errorf("pure imports were reported: %v", got)
	}
}

// TestGoMod_RequiresOnlyNumericsAndTheTestLibrary reads go.mod. Every dependency of growth is a dependency of every binary.
func TestGoMod_RequiresOnlyNumericsAndTheTestLibrary(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		direct := len(fields) == 2 && strings.HasPrefix(fields[1], "v") && !strings.Contains(line, "// indirect")
		if direct && fields[0] != "github.com/stretchr/testify" && fields[0] != "gonum.org/v1/gonum" {
			t.Errorf("go.mod requires %s: growth needs only numerics and the test library", fields[0])
		}
	}
}

func leaks(t *testing.T, tree fs.FS) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if !pure(imported) {
				found = append(found, file+" imports "+imported+": growth decides, it does not act")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func pure(imported string) bool {
	if slices.Contains(numerics, imported) {
		return true
	}
	if imported == module || strings.HasPrefix(imported, module+"/") {
		return true
	}
	if strings.Contains(strings.Split(imported, "/")[0], ".") {
		return false
	}
	return !slices.ContainsFunc(impure, func(p string) bool {
		return imported == p || strings.HasPrefix(imported, p+"/")
	})
}
