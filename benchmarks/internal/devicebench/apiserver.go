package devicebench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// apiServer is a fake that lists the node's pods and sends watch events for replaced ones. It accepts all writes.
type apiServer struct {
	http.Server
	pods []corev1.Pod
	news chan event
}

// event is a line of a watch.
type event struct {
	Type   watch.EventType `json:"type"`
	Object corev1.Pod      `json:"object"`
}

func startAPIServer(pods, units int) (*apiServer, string, error) {
	a := &apiServer{news: make(chan event, 2*pods)}
	for i := range pods {
		a.pods = append(a.pods, pod(i, units))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("starting the fake API server: %w", err)
	}
	a.Handler = a
	a.ReadHeaderTimeout = time.Minute
	go func() { _ = a.Serve(listener) }()
	return a, "http://" + listener.Addr().String(), nil
}

// replace sends the deletion of a pod and the addition of another.
func (a *apiServer) replace(gone, bound int) {
	a.news <- event{watch.Deleted, pod(gone, units)}
	a.news <- event{watch.Added, pod(bound, units)}
}

func podName(i int) string { return fmt.Sprintf("job-%03d", i) }

// pod returns a training job with all fields of a real one.
func pod(i, units int) corev1.Pod {
	quantity := *resource.NewQuantity(int64(units), resource.DecimalSI)
	var env []corev1.EnvVar
	for n := range 20 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", n), Value: "the value of a setting of a training job"})
	}
	fields := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{".":{},"f:gpushare/gpu-mem":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{".":{}}}}}}`)
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: podName(i), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)),
			ResourceVersion:   strconv.Itoa(i + 1),
			CreationTimestamp: metav1.NewTime(time.Unix(int64(1_800_000_000+i), 0)),
			Annotations:       map[string]string{"gpushare/gpu-mem": fmt.Sprintf("%dGi", units)},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubectl", Operation: "Update", FieldsType: "FieldsV1", FieldsV1: fields},
				{Manager: "kubelet", Operation: "Update", FieldsType: "FieldsV1", FieldsV1: fields, Subresource: "status"},
			},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "main", Image: "training", Command: []string{"python", "train.py"}, Env: env,
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"gpushare/gpu-mem": quantity}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// ServeHTTP implements http.Handler.
func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodGet:
		_, _ = fmt.Fprint(w, "{}")
	case r.URL.Query().Get("watch") != "" && r.URL.Path == "/api/v1/pods":
		a.watch(r.Context(), w)
	case r.URL.Query().Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.URL.Path == "/api/v1/pods":
		_ = json.NewEncoder(w).Encode(corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: a.pods})
	default:
		_, _ = fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"},"items":[]}`)
	}
}

// watch serves the watch of pods.
func (a *apiServer) watch(ctx context.Context, w http.ResponseWriter) {
	for lines := json.NewEncoder(w); ; {
		w.(http.Flusher).Flush()
		select {
		case e := <-a.news:
			_ = lines.Encode(e)
		case <-ctx.Done():
			return
		}
	}
}
