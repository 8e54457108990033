package podevents

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/growth"
)

// component is the source of the events.
const component = "trellis-extender"

// Writer writes events.
type Writer struct {
	Client kubernetes.Interface
	Log    *slog.Logger
}

// Write writes an event on a pod. kind is corev1.EventTypeNormal or corev1.EventTypeWarning.
func (w Writer) Write(ctx context.Context, pod growth.PodRef, kind, reason, message string) {
	w.write(ctx, pod, strconv.FormatInt(time.Now().UnixNano(), 16), kind, reason, message)
}

// WriteOnce writes an event that each replica may write: its name is the same at all of them, so that there is one. A pod can have one
// for each reason.
func (w Writer) WriteOnce(ctx context.Context, pod growth.PodRef, kind, reason, message string) {
	w.write(ctx, pod, string(pod.UID)+"."+strings.ToLower(reason), kind, reason, message)
}

func (w Writer) write(ctx context.Context, pod growth.PodRef, suffix, kind, reason, message string) {
	now := metav1.Now()
	_, err := w.Client.CoreV1().Events(pod.Namespace).Create(ctx, &corev1.Event{
		// A name has at most 253 characters.
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("%.180s.%s", pod.Name, suffix)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1",
			Kind:       "Pod",
			Namespace:  pod.Namespace,
			Name:       pod.Name,
			UID:        types.UID(pod.UID),
		},
		Type:                kind,
		Reason:              reason,
		Message:             message,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
		Source:              corev1.EventSource{Component: component},
		ReportingController: component,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		w.Log.Warn("an event could not be written", "pod", pod, "reason", reason, "err", err)
	}
}
