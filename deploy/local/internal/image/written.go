package image

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// keep is how long a superseded version stays: another cluster may be loading it.
const keep = time.Hour

// Written is an image on this machine's disk.
type Written struct {
	Name string
	Tag  string
	Path string
	// New is true if the file did not exist.
	New bool
}

// Ref is the image's name in a pod.
func (w Written) Ref() string { return Repository + w.Name + ":" + w.Tag }

// WriteAll writes each image to NAME-DIGEST.tar in folder, unless it is there, and removes old versions of it.
func WriteAll(folder string, images []Image) ([]Written, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	var all []Written
	for _, i := range images {
		w, err := i.write(folder)
		if err != nil {
			return all, err
		}
		all = append(all, w)
	}
	return all, nil
}

// write renames a temporary file, so that a file under its final name is complete.
func (i Image) write(folder string) (Written, error) {
	digest, err := i.Digest()
	if err != nil {
		return Written{}, err
	}
	w := Written{Name: i.Name, Tag: cmp.Or(i.Pinned, digest), Path: filepath.Join(folder, i.Name+"-"+digest+".tar")}
	if _, err := os.Stat(w.Path); err == nil {
		return w, nil
	}
	w.New = true
	half, err := halfFile(folder, i.Name)
	if err != nil {
		return Written{}, err
	}
	defer os.Remove(half)
	if err := Write(half, w.Ref(), i.Files, i.Entrypoint); err != nil {
		return Written{}, fmt.Errorf("write image %s: %w", i.Name, err)
	}
	if err := i.prune(folder); err != nil {
		return Written{}, err
	}
	return w, os.Rename(half, w.Path)
}

// prune removes versions that no cluster can be loading.
func (i Image) prune(folder string) error {
	versions, err := filepath.Glob(filepath.Join(folder, i.Name+"-????????????.tar"))
	if err != nil {
		return err
	}
	for _, path := range versions {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < keep {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

func halfFile(folder, name string) (string, error) {
	file, err := os.CreateTemp(folder, "."+name+"-*.half")
	if err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}
