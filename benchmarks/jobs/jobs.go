// Package jobs embeds the training programs of this folder in the benchmarks' binary.
package jobs

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed *.py
var files embed.FS

// Scripts returns the programs by file name, as a ConfigMap holds them.
func Scripts() (map[string]string, error) {
	names, err := fs.Glob(files, "*.py")
	if err != nil {
		return nil, err
	}
	scripts := make(map[string]string, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("script %s: %w", name, err)
		}
		scripts[name] = string(text)
	}
	return scripts, nil
}

// WriteScripts writes the programs into a folder.
func WriteScripts(folder string) error {
	scripts, err := Scripts()
	if err != nil {
		return err
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
