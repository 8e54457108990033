package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
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

// Write writes to file an image of one layer that containerd can import under the name ref. files maps the path of
// each program in the image to the program on this machine; a path that ends in / is an empty folder instead. The
// same input gives the same bytes.
func Write(file, ref string, files map[string]string, entrypoint []string) error {
	tag, err := name.NewTag(ref, name.WithDefaultRegistry(""))
	if err != nil {
		return fmt.Errorf("image name %q: %w", ref, err)
	}
	content, err := layerOf(files)
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithCompressionLevel(gzip.BestSpeed)) // the image travels no further than to this machine's nodes
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	img, err = mutate.ConfigFile(img, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH,
		Config: v1.Config{Entrypoint: entrypoint},
		RootFS: rootFS(img),
	})
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, img)
}

func rootFS(img v1.Image) v1.RootFS {
	config, err := img.ConfigFile()
	if err != nil {
		return v1.RootFS{}
	}
	return config.RootFS
}

// layerOf packs the programs, in order of their paths and without times.
func layerOf(files map[string]string) ([]byte, error) {
	var out bytes.Buffer
	pack := tar.NewWriter(&out)
	targets := make([]string, 0, len(files))
	for target := range files {
		targets = append(targets, target)
	}
	slices.Sort(targets)
	for _, target := range targets {
		if err := add(pack, target, files[target]); err != nil {
			return nil, fmt.Errorf("put %s into the image: %w", target, err)
		}
	}
	return out.Bytes(), pack.Close()
}

func add(pack *tar.Writer, target, source string) error {
	place := strings.TrimPrefix(path.Clean(target), "/")
	if strings.HasSuffix(target, "/") {
		return pack.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: place + "/", Mode: 0o755})
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := pack.WriteHeader(&tar.Header{Name: place, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err = pack.Write(content)
	return err
}
