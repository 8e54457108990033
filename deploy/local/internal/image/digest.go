package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// Image describes one image to build.
type Image struct {
	Name       string
	Files      map[string]string // path in the image → path on this machine
	Entrypoint []string
	// Pinned is the tag of an image that users name in their pods. Empty: the tag is the digest.
	Pinned string
}

// Digest is a short digest of the image's files, their paths and the entrypoint.
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
