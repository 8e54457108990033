package node

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// lockAnnotation is set by HAMi's scheduler before it binds a pod to the node, and removed by its device plugin
	// in Allocate.
	lockAnnotation = "hami.io/mutex.lock"
	// lockExpiry is the age at which HAMi ignores a lock.
	lockExpiry = 5 * time.Minute
)

// ErrLocked means that HAMi allocates this node's GPUs.
var ErrLocked = errors.New("HAMi binds pods to this node and would hand out the same GPUs")

// CheckLock returns ErrLocked if HAMi is active on the node. A lock starts with its creation time, from a clock that
// may be ahead of ours. An invalid lock is ignored.
func CheckLock(annotations map[string]string, now time.Time) error {
	value := annotations[lockAnnotation]
	written, _, _ := strings.Cut(value, ",")
	taken, err := time.Parse(time.RFC3339, written)
	if err != nil || now.Sub(taken).Abs() >= lockExpiry {
		return nil
	}
	return fmt.Errorf(
		"%w: annotation %s is %.200q: uninstall HAMi or take its label gpu=on off the node; a lock that is left "+
			"behind counts until %s",
		ErrLocked, lockAnnotation, value, taken.Add(lockExpiry).Format(time.TimeOnly))
}
