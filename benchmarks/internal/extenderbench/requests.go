package extenderbench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// sizes are the requests of the pods, in GiB.
func sizes() []int { return []int{1, 2, 4, 8, 16, 24, 40, 80} }

// client sends kube-scheduler's requests to an extender, one after another over one connection.
type client struct {
	http *http.Client
	url  string
}

func newClient(url string) *client {
	return &client{http: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: time.Minute}, url: url}
}

// time sends a request and returns the time from the first byte sent to the last byte read.
func (c *client) time(ctx context.Context, verb string, body []byte) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/"+verb, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	start := time.Now()
	reply, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	_, err = io.Copy(io.Discard, reply.Body)
	took := time.Since(start)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", verb, reply.StatusCode)
	}
	return took, err
}

// requests makes request bodies, each with a new pod.
type requests struct {
	random  *rand.Rand
	created int
}

// body returns a request body with node names and a new pod.
func (q *requests) body(nodes json.RawMessage) ([]byte, error) {
	q.created++
	pod := job(fmt.Sprintf("asked-%06d", q.created), sizes()[q.random.IntN(len(sizes()))])
	pod.UID, pod.ResourceVersion, pod.CreationTimestamp = uuid.NewUUID(), strconv.Itoa(q.created), metav1.Now()
	return json.Marshal(struct {
		Pod       *corev1.Pod
		Nodes     *corev1.NodeList
		NodeNames json.RawMessage
	}{Pod: pod, NodeNames: nodes})
}

// bodies returns a body for each of several new pods.
func (q *requests) bodies(nodes json.RawMessage, pods int) ([][]byte, error) {
	bodies := make([][]byte, pods)
	for i := range bodies {
		var err error
		if bodies[i], err = q.body(nodes); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

// encodeNames encodes node names as JSON.
func encodeNames(nodes []string) json.RawMessage {
	encoded, _ := json.Marshal(nodes) // strings are always encodable
	return encoded
}

// job returns a training pod as it is after admission: the annotation has become a resource limit.
func job(name string, gib int) *corev1.Pod {
	units := *resource.NewQuantity(int64(gib), resource.DecimalSI)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{"app": "training", "benchmark": "extender"},
			Annotations: map[string]string{gpushare.MemoryAnnotation: strconv.Itoa(gib) + "Gi", gpushare.MetricAnnotation: "loss:min"},
		},
		Spec: corev1.PodSpec{
			SchedulerName: gpushare.SchedulerName, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "train", Image: "trainer:1", Command: []string{"python3", "train.py", "--epochs", "10"},
				Env: []corev1.EnvVar{{Name: "DATA", Value: "/data"}, {Name: "SEED", Value: "1"}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), gpushare.Resource: units},
					Limits:   corev1.ResourceList{gpushare.Resource: units},
				},
			}},
		},
	}
}

// boundPod returns the bound pod of an occupant.
func boundPod(o occupant) *corev1.Pod {
	pod := job(o.name, int(o.size>>10))
	pod.Spec.NodeName = string(o.node)
	pod.Annotations[gpushare.GPUAnnotation] = string(o.gpu)
	return pod
}

// sendAll sends filter and prioritize for each pod. It returns one time per pod: that of both requests.
func sendAll(ctx context.Context, c *client, bodies [][]byte) (times, error) {
	runtime.GC() // now, and not during the measurement of another contestant
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	all := make(times, len(bodies))
	for i, body := range bodies {
		for _, verb := range []string{"filter", "prioritize"} {
			took, err := c.time(ctx, verb, body)
			if err != nil {
				return nil, err
			}
			all[i] += took
		}
	}
	return all, nil
}
