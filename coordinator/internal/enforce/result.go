package enforce

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/growth/node"
)

// Result is what became of one resize.
type Result struct {
	Resize node.Resize
	// Weight is the pod's cpu.shares or cpu.weight as read back. Verified is set where it is the new one.
	Weight   int64
	Verified bool
	// Err says why the request was not changed.
	Err error
}

// Gone reports whether the pod no longer exists, which is no failure.
func (r Result) Gone() bool {
	return apierrors.IsNotFound(r.Err) || apierrors.IsConflict(r.Err) || errors.Is(r.Err, errGone)
}

// Rejected reports whether the API server does not permit the request. To repeat it is useless.
func (r Result) Rejected() bool { return apierrors.IsInvalid(r.Err) || apierrors.IsForbidden(r.Err) }

var errGone = errors.New("the pod is gone")
