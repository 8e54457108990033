package registry

import (
	"context"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
)

// progressInterval is the time between two progress lines of one upload.
const progressInterval = 5 * time.Second

// Report lists the images of one push. Its JSON form is the output of `trellis images -o json`.
type Report struct {
	Registry string   `json:"registry"`
	Tag      string   `json:"tag"`
	Platform string   `json:"platform"`
	Images   []Pushed `json:"images"`
}

// Pushed is one image in the registry.
type Pushed struct {
	Name   string `json:"name"`
	Ref    string `json:"ref"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	// Uploaded is false for a dry run, and if the registry had the image already.
	Uploaded bool `json:"uploaded"`
}

// ByDigest is the name of exactly this image: a tag may move.
func (p Pushed) ByDigest(t Target) string { return t.Repository(p.Name) + "@" + p.Digest }

// Push builds the images and uploads those that the registry lacks. Progress goes to out. A dry run builds the images and
// does not connect to the registry.
func (t Target) Push(ctx context.Context, images []image.Image, dryRun bool, out io.Writer) (Report, error) {
	platform := image.Platform()
	report := Report{Registry: t.Address, Tag: t.Tag, Platform: platform.String()}
	for i, img := range images {
		prefix := fmt.Sprintf("[%d/%d] %-14s", i+1, len(images), img.Name)
		built, err := img.Build()
		if err != nil {
			return report, err
		}
		pushed, err := t.describe(img.Name, built)
		if err != nil {
			return report, err
		}
		if !dryRun {
			if err := t.upload(ctx, &pushed, built, prefix, out); err != nil {
				return report, fmt.Errorf("push %s: %w", pushed.Ref, err)
			}
		}
		report.Images = append(report.Images, pushed)
	}
	return report, nil
}

func (t Target) describe(name string, img v1.Image) (Pushed, error) {
	digest, err := img.Digest()
	if err != nil {
		return Pushed{}, err
	}
	layers, err := img.Layers()
	if err != nil {
		return Pushed{}, err
	}
	pushed := Pushed{Name: name, Ref: t.Repository(name) + ":" + t.Tag, Digest: digest.String()}
	for _, layer := range layers {
		size, err := layer.Size()
		if err != nil {
			return Pushed{}, err
		}
		pushed.Size += size
	}
	return pushed, nil
}

func (t Target) upload(ctx context.Context, pushed *Pushed, img v1.Image, prefix string, out io.Writer) error {
	present, found, err := t.Digest(ctx, pushed.Name)
	if err != nil {
		return err
	}
	if found && present.String() == pushed.Digest {
		fmt.Fprintf(out, "%s in the registry already\n", prefix)
		return nil
	}
	tag, err := t.reference(pushed.Name)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s pushing %s\n", prefix, mebibytes(pushed.Size))
	updates := make(chan v1.Update, 16)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		showProgress(updates, prefix, out)
	}()
	err = remote.Write(tag, img, append(t.options(ctx), remote.WithProgress(updates))...)
	<-finished // Write closes the channel
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return t.explain(err)
	}
	pushed.Uploaded = true
	fmt.Fprintf(out, "%s pushed %s\n", prefix, pushed.Digest)
	return nil
}

func showProgress(updates <-chan v1.Update, prefix string, out io.Writer) {
	last := time.Now()
	for update := range updates {
		if update.Total > 0 && time.Since(last) >= progressInterval {
			last = time.Now()
			fmt.Fprintf(out, "%s %s of %s\n", prefix, mebibytes(update.Complete), mebibytes(update.Total))
		}
	}
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
