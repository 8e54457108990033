package node

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// lockAnnotation is HAMi's: its scheduler sets it on a node before it binds a pod there, and its device plugin takes it
	// away in Allocate.
	lockAnnotation = "hami.io/mutex.lock"
	// lockExpiry is when HAMi itself takes a lock for forgotten.
	lockExpiry = 5 * time.Minute
)

// ErrLocked means that another sharer is handing out this node's GPUs.
var ErrLocked = errors.New("HAMi binds pods to this node and would hand out the same GPUs")

// CheckLock tells from a node's annotations whether HAMi is live on it. Its lock begins with the time at which it was taken,
// which may be ahead of ours. A lock that can not be read says nothing.
func CheckLock(annotations map[string]string, now time.Time) error {
	value := annotations[lockAnnotation]
	written, _, _ := strings.Cut(value, ",")
	taken, err := time.Parse(time.RFC3339, written)
	if err != nil || now.Sub(taken).Abs() >= lockExpiry {
		return nil
	}
	return fmt.Errorf("%w: annotation %s is %.200q: uninstall HAMi or take its label gpu=on off the node; a lock that is left behind counts until %s",
		ErrLocked, lockAnnotation, value, taken.Add(lockExpiry).Format(time.TimeOnly))
}
