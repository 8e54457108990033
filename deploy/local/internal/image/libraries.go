package image

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxInterpreter bounds the path of a program's loader.
const maxInterpreter = 4096

// libraryFolders are the default search path of the loaders of the common distributions.
var libraryFolders = []string{
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/lib64", "/usr/lib64", "/lib", "/usr/lib",
}

// Libraries maps the loader and every shared library that the program at path needs to their paths on this machine.
// The image has them at the same paths, where the loader finds them. A static program has none. A library that the
// program loads with dlopen is not in the list: see driverLibraries.
func Libraries(path string) (map[string]string, error) {
	found := map[string]string{}
	if err := follow(path, found); err != nil {
		return nil, err
	}
	return found, nil
}

// driverLibraries are the parts of the C library that NVIDIA's management library (libnvidia-ml.so.1) is linked to. The
// container runtime adds that library to the device plugin's container, but not the libraries that it needs.
func driverLibraries() map[string]string {
	found := map[string]string{}
	for _, name := range []string{"libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"} {
		if path, err := locate(name); err == nil { // other C libraries have no such parts
			found[path] = path
		}
	}
	return found
}

func follow(path string, found map[string]string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is not a Linux program: %w", path, err)
	}
	defer file.Close()
	if loader, err := interpreter(file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	} else if loader != "" {
		found[loader] = loader
	}
	needed, err := file.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range needed {
		library, err := locate(name)
		if err != nil {
			return fmt.Errorf("%s needs %w", path, err)
		}
		if _, ok := found[library]; ok {
			continue
		}
		found[library] = library
		if err := follow(library, found); err != nil {
			return err
		}
	}
	return nil
}

func interpreter(file *elf.File) (string, error) {
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			path, err := io.ReadAll(io.LimitReader(segment.Open(), maxInterpreter))
			return string(bytes.TrimRight(path, "\x00")), err
		}
	}
	return "", nil
}

func locate(library string) (string, error) {
	for _, folder := range libraryFolders {
		path := filepath.Join(folder, library)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the library %s, which is in none of %v", library, libraryFolders)
}
