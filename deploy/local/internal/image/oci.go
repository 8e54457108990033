package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Platform is the operating system and architecture of every image: those of the machine that builds it.
func Platform() v1.Platform { return v1.Platform{OS: "linux", Architecture: runtime.GOARCH} }

// Write writes an image of one layer to file, under the name ref, as a tar that containerd can import. files maps the
// path of each program in the image to the program on this machine; a path that ends in / is an empty folder instead.
// The same input gives the same bytes.
func Write(file, ref string, files map[string]string, entrypoint []string) error {
	tag, err := name.NewTag(ref, name.WithDefaultRegistry(""))
	if err != nil {
		return fmt.Errorf("image name %q: %w", ref, err)
	}
	// Only this machine's nodes read the file, so its size does not matter.
	img, err := build(files, entrypoint, gzip.BestSpeed)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, img)
}

// Build builds the image for a registry. The same files give the same digest.
func (i Image) Build() (v1.Image, error) {
	img, err := build(i.Files, i.Entrypoint, gzip.DefaultCompression)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", i.Name, err)
	}
	return img, nil
}

func build(files map[string]string, entrypoint []string, compression int) (v1.Image, error) {
	content, err := layerOf(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithCompressionLevel(compression), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	layers, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	platform := Platform()
	return mutate.ConfigFile(img, &v1.ConfigFile{
		OS:           platform.OS,
		Architecture: platform.Architecture,
		Config:       v1.Config{Entrypoint: entrypoint},
		RootFS:       layers.RootFS,
	})
}

// layerOf packs the programs, sorted by path and without times.
func layerOf(files map[string]string) ([]byte, error) {
	var out bytes.Buffer
	pack := tar.NewWriter(&out)
	for _, target := range slices.Sorted(maps.Keys(files)) {
		if err := add(pack, target, files[target]); err != nil {
			return nil, fmt.Errorf("put %s into the image: %w", target, err)
		}
	}
	if err := pack.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func add(pack *tar.Writer, target, source string) error {
	entry := strings.TrimPrefix(path.Clean(target), "/")
	if strings.HasSuffix(target, "/") {
		return pack.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: entry + "/", Mode: 0o755})
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := pack.WriteHeader(&tar.Header{Name: entry, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err = pack.Write(content)
	return err
}
