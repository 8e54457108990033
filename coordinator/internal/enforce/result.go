package enforce

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/growth/node"
)

// Result is the result of one resize.
type Result struct {
	Resize node.Resize
	// Weight is the pod's cpu.shares or cpu.weight, read back after the resize.
	Weight int64
	// Verified means that Weight is the new weight.
	Verified bool
	// Err is the reason why the request was not changed.
	Err error
}

// Gone reports whether the pod no longer exists, which is not a failure.
func (r Result) Gone() bool {
	return apierrors.IsNotFound(r.Err) || errors.Is(r.Err, errGone)
}

// Conflict reports whether another client has changed the requests since the decision. Its change stays.
func (r Result) Conflict() bool {
	var changed changedError
	var memory memoryChangedError
	return errors.As(r.Err, &changed) || errors.As(r.Err, &memory)
}

// Quota returns the name of the quota that forbids the request, and whether one does.
func (r Result) Quota() (string, bool) { return quotaOf(r.Err) }

// Rejected reports whether the API server does not permit the request. A retry is useless.
func (r Result) Rejected() bool { return apierrors.IsInvalid(r.Err) || apierrors.IsForbidden(r.Err) }

var errGone = errors.New("the pod is gone")
