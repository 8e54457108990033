package enforce

import (
	"context"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/growth/node"
)

const (
	// quotaPeriod is the time between two attempts of a raise that a quota refuses. quotaTimeout bounds all attempts.
	quotaPeriod  = 500 * time.Millisecond
	quotaTimeout = 5 * time.Second
)

// overQuota matches the messages of the quota admission of the API server. Its group is the name of the quota.
var overQuota = regexp.MustCompile(`(?:exceeded quota|status unknown for quota|failed quota): ([^\s,:]+)`)

// quotaOf returns the name of the quota that forbids a request, and whether one does.
func quotaOf(err error) (string, bool) {
	if !apierrors.IsForbidden(err) {
		return "", false
	}
	found := overQuota.FindStringSubmatch(err.Error())
	if found == nil {
		return "", false
	}
	return found[1], true
}

// retryQuota repeats raises that a quota has refused after other pods of its namespace were lowered. The quota counts a
// lowered request only after kubelet has applied it and the quota controller has added up its namespace again. It ends
// early if there are newer resizes.
func (w *Worker) retryQuota(ctx context.Context, refused []failure) (resized []*pending) {
	deadline := time.Now().Add(quotaTimeout)
	for len(refused) > 0 && len(w.newest) == 0 && time.Now().Before(deadline) {
		select {
		case <-ctx.Done():
			return resized
		case <-time.After(quotaPeriod):
		}
		var resizes []node.Resize
		for _, f := range refused {
			resizes = append(resizes, f.resize)
		}
		made, failed := w.resizeAll(ctx, resizes)
		resized = append(resized, made...)
		refused = w.reportUnless(ctx, failed, isOverQuota)
	}
	w.report(ctx, refused)
	return resized
}

func isOverQuota(f failure) bool {
	_, over := quotaOf(f.err)
	return over
}
