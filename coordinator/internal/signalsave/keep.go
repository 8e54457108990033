package signalsave

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/growth/save"
)

// piece is how much of a file is hashed between two looks at the deadline.
const piece = 4 << 20

var (
	errChanged = errors.New("the file has changed")
	errLate    = errors.New("the file is complete, but there was no time left to read it")
)

// keep writes a complete file through to the disk and returns its SHA-256. It returns errChanged if the file is not the one
// that was seen, or changes meanwhile.
func (v *volume) keep(ctx context.Context, seen save.File) (string, error) {
	found, err := v.find()
	if err != nil {
		return "", err
	}
	defer func() { _ = found.Close() }()
	if now, err := v.identify(found); err != nil || now != seen {
		return "", errors.Join(errChanged, err)
	}
	file, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", found.Fd()), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return "", ErrForbidden
	}
	if err != nil {
		return "", &fs.PathError{Op: "opening", Path: v.path, Err: err}
	}
	defer func() { _ = file.Close() }()
	if err := file.Sync(); err != nil {
		return "", fmt.Errorf("%s cannot be written through to the disk: %w", v.path, err)
	}
	sum, err := hash(ctx, file)
	if ctx.Err() != nil {
		return "", errLate
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", v.path, err)
	}
	if now, err := v.identify(file); err != nil || now != seen {
		return "", errors.Join(errChanged, err)
	}
	if now, err := v.look(); err != nil || now != seen {
		return "", errors.Join(errChanged, err)
	}
	return sum, v.syncFolder()
}

// syncFolder writes the name of the file through to the disk.
func (v *volume) syncFolder() error {
	folder, err := openBelow(v.folder, filepath.Dir(v.below), unix.O_RDONLY|unix.O_DIRECTORY, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_XDEV)
	if err == nil {
		err = errors.Join(folder.Sync(), folder.Close())
	}
	if err != nil {
		return fmt.Errorf("the folder of %s cannot be written through to the disk: %w", v.path, err)
	}
	return nil
}

// hash returns the SHA-256 of a file, unless ctx ends before.
func hash(ctx context.Context, file *os.File) (string, error) {
	sum := sha256.New()
	for {
		_, err := io.CopyN(sum, file, piece)
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return "", err
		}
	}
}
