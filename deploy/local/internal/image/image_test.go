package image_test

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
)

func programFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
	return path
}

func TestWrite_IsReproducible(t *testing.T) {
	files := map[string]string{"/b": programFile(t, "b"), "/a": programFile(t, "a"), "/usr/": ""}
	var tars [2][]byte
	for i := range tars {
		path := filepath.Join(t.TempDir(), "image.tar")
		require.NoError(t, image.Write(path, "trellis.local/x:1", files, []string{"/a"}))
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		tars[i] = content
	}
	require.Equal(t, tars[0], tars[1])
}

func TestWrite_GivesAnImportableArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.tar")
	files := map[string]string{"/usr/local/bin/p": programFile(t, "hello"), "/etc/": ""}
	require.NoError(t, image.Write(path, "trellis.local/p:abc", files, []string{"/usr/local/bin/p"}))

	tag, err := name.NewTag("trellis.local/p:abc")
	require.NoError(t, err)
	img, err := tarball.ImageFromPath(path, &tag)
	require.NoError(t, err)
	require.NoError(t, validate.Image(img))
	config, err := img.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, []string{"/usr/local/bin/p"}, config.Config.Entrypoint)
	layers, err := img.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"etc/": "", "usr/local/bin/p": "hello"}, unpack(t, content))

	archive, err := os.Open(path)
	require.NoError(t, err)
	defer archive.Close()
	var manifest []struct{ RepoTags []string }
	require.NoError(t, json.Unmarshal([]byte(unpack(t, archive)["manifest.json"]), &manifest))
	require.Equal(t, []string{"trellis.local/p:abc"}, manifest[0].RepoTags)
}

func unpack(t *testing.T, in io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for r := tar.NewReader(in); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		require.Zero(t, header.ModTime.Unix(), "a time would differ from build to build")
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		files[header.Name] = string(content)
	}
}

func TestWriteAll_SkipsUnchangedImages(t *testing.T) {
	folder, source := t.TempDir(), programFile(t, "one")
	images := []image.Image{{Name: "p", Files: map[string]string{"/p": source}, Entrypoint: []string{"/p"}}}

	first, err := image.WriteAll(folder, images)
	require.NoError(t, err)
	require.True(t, first[0].New)
	again, err := image.WriteAll(folder, images)
	require.NoError(t, err)
	require.False(t, again[0].New)
	require.Equal(t, first[0].Ref(), again[0].Ref())

	require.NoError(t, os.WriteFile(source, []byte("two"), 0o755))
	yesterday := time.Now().Add(-24 * time.Hour)
	require.NoError(t, os.Chtimes(first[0].Path, yesterday, yesterday))
	changed, err := image.WriteAll(folder, images)
	require.NoError(t, err)
	require.True(t, changed[0].New)
	require.NotEqual(t, first[0].Ref(), changed[0].Ref())
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{changed[0].Path}, files, "the old version is gone")
}

func TestLibraries_OfADynamicProgram(t *testing.T) {
	const dynamic = "/bin/ls"
	if _, err := os.Stat(dynamic); err != nil {
		t.Skip("this machine has no " + dynamic)
	}
	libraries, err := image.Libraries(dynamic)
	require.NoError(t, err)
	var libc, loader bool
	for path := range libraries {
		base := filepath.Base(path)
		libc = libc || base == "libc.so.6" || base == "libc.musl-x86_64.so.1"
		loader = loader || len(base) > 3 && base[:3] == "ld-"
	}
	require.True(t, libc, "%v", libraries)
	require.True(t, loader, "%v", libraries)
}

func TestLibraries_RejectsFilesThatAreNotPrograms(t *testing.T) {
	_, err := image.Libraries(programFile(t, "#!/bin/sh"))
	require.ErrorContains(t, err, "is not a Linux program")
	_, err = image.Catalogue(t.TempDir(), t.TempDir())
	require.ErrorContains(t, err, "coordinator")
}
