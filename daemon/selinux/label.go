package selinux

import (
	"fmt"
	"strings"
)

const (
	// sharedType is the type of files that containers may use. The level s0 has no categories, so it does not separate pods;
	// a slot is mounted into its own container only.
	sharedType  = "container_file_t"
	sharedLevel = "s0"
)

// Labels reads and writes the labels of files. Get returns "" for a file without one.
type Labels interface {
	Get(path string) (string, error)
	Set(path, label string) error
}

// Share lets containers use a file. Without labels, on a node without SELinux, it does nothing.
func Share(labels Labels, path string) error {
	if labels == nil {
		return nil
	}
	label, err := labels.Get(path)
	if err != nil || label == "" {
		return err
	}
	user, _, ok := strings.Cut(label, ":")
	if !ok {
		return fmt.Errorf("the SELinux label %.80q of %s has no type", label, path)
	}
	return set(labels, path, label, user+":object_r:"+sharedType+":"+sharedLevel)
}

// Copy gives a file the label of another.
func Copy(labels Labels, from, to string) error {
	if labels == nil {
		return nil
	}
	wanted, err := labels.Get(from)
	if err != nil || wanted == "" {
		return err
	}
	label, err := labels.Get(to)
	if err != nil {
		return err
	}
	return set(labels, to, label, wanted)
}

func set(labels Labels, path, label, wanted string) error {
	if label == wanted {
		return nil
	}
	if err := labels.Set(path, wanted); err != nil {
		return fmt.Errorf("labelling %s as %s: %w; give the pods of Trellis the SELinux type spc_t "+
			"(deploy/components/selinux)", path, wanted, err)
	}
	return nil
}
