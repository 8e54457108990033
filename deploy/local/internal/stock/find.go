package stock

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Ensure returns the folder that holds the programs: the given one, or the cache after building those that it lacks.
func Ensure(ctx context.Context, given string, programs []Program, out io.Writer) (string, error) {
	if given != "" {
		dir, err := filepath.Abs(given)
		if missing := Missing(dir, programs); err == nil && len(missing) > 0 {
			return "", fmt.Errorf("--stock-dir %s lacks %s", given, Names(missing))
		}
		return dir, err
	}
	source, err := sourceOfThisProgram()
	if err != nil {
		return "", err
	}
	cache, err := CacheRoot(os.Getenv)
	if err != nil {
		return "", err
	}
	return Builder{Source: source, Cache: cache, Out: out}.Ensure(ctx, programs)
}

// Repository finds the folder with go.work above the working directory, or above this program.
func Repository() (string, error) {
	source, err := sourceOfThisProgram()
	if err != nil {
		return "", err
	}
	return filepath.Join(source, "..", ".."), nil
}

func sourceOfThisProgram() (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", err
	}
	workingDirectory, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return FindSource(workingDirectory, filepath.Dir(executable))
}
