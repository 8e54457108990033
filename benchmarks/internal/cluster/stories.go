package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"
)

// Story is one Kubernetes event, or one more occurrence of it.
type Story struct {
	At      time.Time
	Object  string
	From    string
	Reason  string
	Text    string
	Warning bool
}

// Stories follows the events of one namespace.
type Stories struct {
	told map[types.UID]int32
}

// maxEvents bounds the events of a namespace that are kept in mind.
const maxEvents = 50_000

// New returns the events since the previous call, oldest first.
func (s *Stories) New(ctx context.Context, c *Connection, namespace string) ([]Story, error) {
	if s.told == nil {
		s.told = map[types.UID]int32{}
	}
	events := c.Kubernetes.CoreV1().Events(namespace)
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return events.List(ctx, options)
	})
	var fresh []Story
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		e := item.(*corev1.Event)
		count := occurrences(*e)
		if s.told[e.UID] >= count {
			return nil
		}
		if s.told[e.UID] = count; len(s.told) > maxEvents {
			return fmt.Errorf("more than %d", maxEvents)
		}
		fresh = append(fresh, Story{
			At: when(*e), Object: e.InvolvedObject.Name, From: cmp.Or(e.ReportingController, e.Source.Component),
			Reason: e.Reason, Text: e.Message, Warning: e.Type == corev1.EventTypeWarning,
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing events: %w", err)
	}
	slices.SortStableFunc(fresh, func(a, b Story) int { return a.At.Compare(b.At) })
	return fresh, nil
}

func occurrences(e corev1.Event) int32 {
	count := max(e.Count, 1)
	if e.Series != nil {
		count = max(count, e.Series.Count)
	}
	return count
}

func when(e corev1.Event) time.Time {
	latest := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time} {
		if t.After(latest) {
			latest = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(latest) {
		latest = e.Series.LastObservedTime.Time
	}
	return latest
}
