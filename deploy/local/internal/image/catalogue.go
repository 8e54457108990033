package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Repository is what every image's name begins with. No registry answers to it: nodes have the images already.
const Repository = "trellis.local/"

// Image is one image to write.
type Image struct {
	Name       string
	Files      map[string]string // path in the image → path on this machine
	Entrypoint []string
	// Pinned is the tag of an image that users name themselves. Empty: the tag is the digest.
	Pinned string
}

// Binaries are the project's own images, named as the modules that they are built from.
func Binaries() []string { return []string{"coordinator", "deviceplugin", "extender", "tuner"} }

// StockPrograms are the upstream programs that run as pods.
func StockPrograms() []string { return []string{"etcd", "kube-scheduler"} }

// machineFolders is where jobs mount this machine's folders, and what a container needs besides.
var machineFolders = []string{"/bin/", "/dev/", "/etc/", "/lib/", "/lib64/", "/proc/", "/run/", "/sys/", "/tmp/", "/usr/", "/var/"}

// Catalogue lists the images whose programs lie in the folders bin and stock.
func Catalogue(bin, stock string) ([]Image, error) {
	images := []Image{machine()}
	for _, name := range Binaries() {
		images = append(images, program(name, "/"+name, filepath.Join(bin, name)))
	}
	for _, name := range StockPrograms() {
		images = append(images, program(name, "/usr/local/bin/"+name, filepath.Join(stock, name)))
	}
	for _, i := range images {
		for _, source := range slices.Sorted(maps.Values(i.Files)) {
			if source == "" {
				continue
			}
			libraries, err := Libraries(source)
			if err != nil {
				return nil, fmt.Errorf("image %s: %w", i.Name, err)
			}
			maps.Copy(i.Files, libraries)
		}
	}
	return images, nil
}

func program(name, target, source string) Image {
	return Image{Name: name, Files: map[string]string{target: source}, Entrypoint: []string{target}}
}

func machine() Image {
	files := map[string]string{}
	for _, folder := range machineFolders {
		files[folder] = ""
	}
	return Image{Name: "machine", Files: files, Pinned: "1"}
}

// Digest is a short digest of what the image holds, under which paths, and what it starts.
func (i Image) Digest() (string, error) {
	digest := sha256.New()
	fmt.Fprintf(digest, "%q %q\n", i.Pinned, i.Entrypoint)
	for _, target := range slices.Sorted(maps.Keys(i.Files)) {
		fmt.Fprintf(digest, "%q\n", target)
		if i.Files[target] == "" {
			continue
		}
		if err := digestFile(digest, i.Files[target]); err != nil {
			return "", fmt.Errorf("image %s: %w", i.Name, err)
		}
	}
	return hex.EncodeToString(digest.Sum(nil))[:12], nil
}

func digestFile(digest io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	n, err := io.Copy(digest, file)
	fmt.Fprintf(digest, "\n%d\n", n)
	return err
}
