package image

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// Repository is the prefix of every image name in the manifests. No registry has this name: the local cluster imports
// the images into its nodes, and an installation from a registry replaces the prefix.
const Repository = "trellis.local/"

// devicePlugin is the only program that loads a library which no ELF header names.
const devicePlugin = "deviceplugin"

// Binaries are the project's own images, named after the modules that they are built from.
func Binaries() []string { return []string{"coordinator", devicePlugin, "extender", "tuner"} }

// StockPrograms are the upstream programs that run as pods.
func StockPrograms() []string { return []string{"etcd", "kube-scheduler"} }

// machineFolders are the mount points of an image for jobs that run this machine's own programs.
var machineFolders = []string{"/bin/", "/dev/", "/etc/", "/lib/", "/lib64/", "/proc/", "/run/", "/sys/", "/tmp/", "/usr/", "/var/"}

// Catalogue returns the images of a local cluster. Their programs are in the folders bin and stock.
func Catalogue(bin, stock string) ([]Image, error) {
	ours, err := Programs(bin)
	if err != nil {
		return nil, err
	}
	upstream, err := Stock(stock)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]Image{machine()}, ours, upstream), nil
}

// Programs returns the images of the four binaries in the folder bin.
func Programs(bin string) ([]Image, error) {
	var images []Image
	for _, name := range Binaries() {
		image, err := program(name, "/"+name, filepath.Join(bin, name))
		if err != nil {
			return nil, err
		}
		if name == devicePlugin {
			maps.Copy(image.Files, driverLibraries())
		}
		images = append(images, image)
	}
	return images, nil
}

// Stock returns the images of the upstream programs in the folder stock. Each program has the path that it has in its
// upstream image, so one manifest fits both.
func Stock(stock string) ([]Image, error) {
	var images []Image
	for _, name := range StockPrograms() {
		image, err := program(name, "/usr/local/bin/"+name, filepath.Join(stock, name))
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	return images, nil
}

func program(name, target, source string) (Image, error) {
	libraries, err := Libraries(source)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", name, err)
	}
	libraries[target] = source
	return Image{Name: name, Files: libraries, Entrypoint: []string{target}}, nil
}

func machine() Image {
	files := map[string]string{}
	for _, folder := range machineFolders {
		files[folder] = ""
	}
	return Image{Name: "machine", Files: files, Pinned: "1"}
}
