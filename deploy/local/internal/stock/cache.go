package stock

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// CacheRoot is the folder of the builds: TRELLIS_CACHE, or trellis below the user's cache folder.
func CacheRoot(env func(string) string) (string, error) {
	if dir := env("TRELLIS_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := env("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "trellis"), nil
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".cache", "trellis"), nil
	}
	return "", fmt.Errorf("no folder for a cache: set TRELLIS_CACHE or HOME")
}

// pins are the files below the source folder that determine the result of a build.
func pins(source string, programs []Program) []string {
	var modules []string
	own := false
	for _, p := range programs {
		own = own || p.Module == "."
		modules = append(modules, p.Module)
	}
	slices.Sort(modules)
	var files []string
	for _, m := range slices.Compact(modules) {
		if m != "." {
			files = append(files, filepath.Join(source, m, "go.mod"), filepath.Join(source, m, "go.sum"))
		}
	}
	if own {
		files = append(files, filepath.Join(source, "internal/pause/main.go"))
	}
	return files
}

// Key names the build that the programs belong to: the same pins, flags, toolchain and architecture give the same key.
func Key(source, goVersion string, programs []Program) (string, error) {
	prefix, all := release(programs)
	digest := sha256.New()
	for _, p := range all {
		fmt.Fprintf(digest, "%s %s %s %q %q\n", p.Name, p.Module, p.Package, p.LDFlags, p.Tags)
	}
	fmt.Fprintf(digest, "%s %s\n", goVersion, runtime.GOARCH)
	for _, file := range pins(source, all) {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the files that pin the stock programs: %w", err)
		}
		fmt.Fprintf(digest, "%s %d\n", filepath.Base(filepath.Dir(file)), len(content))
		digest.Write(content)
	}
	return prefix + "-" + hex.EncodeToString(digest.Sum(nil))[:12], nil
}

// Missing lists the programs that dir does not hold.
func Missing(dir string, programs []Program) []Program {
	return slices.DeleteFunc(slices.Clone(programs), func(p Program) bool {
		info, err := os.Stat(filepath.Join(dir, p.Name))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}

// Names joins the programs' names, for messages.
func Names(programs []Program) string {
	names := make([]string, len(programs))
	for i, p := range programs {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

// FindSource finds deploy/local, which holds the pins, from a folder at or below the repository's root upwards.
func FindSource(from ...string) (string, error) {
	for _, start := range from {
		for dir := filepath.Clean(start); ; dir = filepath.Dir(dir) {
			for _, candidate := range []string{dir, filepath.Join(dir, "deploy", "local")} {
				if _, err := os.Stat(filepath.Join(candidate, "stock", "kubernetes", "go.mod")); err == nil {
					return candidate, nil
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("the modules that pin the stock programs (deploy/local/stock) were not found above %s: "+
		"run from the repository, or give ready programs with --stock-dir", strings.Join(from, " or "))
}
