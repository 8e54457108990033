package extenderbench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
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

// asker sends an extender the requests of kube-scheduler, one after another over one connection.
type asker struct {
	client *http.Client
	url    string
}

func newAsker(url string) *asker {
	return &asker{client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: time.Minute}, url: url}
}

// time sends a request and returns the time from the first byte sent to the last byte read.
func (a *asker) time(ctx context.Context, verb string, body []byte) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/"+verb, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	begun := time.Now()
	reply, err := a.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	_, err = io.Copy(io.Discard, reply.Body)
	took := time.Since(begun)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s was answered with status %d", verb, reply.StatusCode)
	}
	return took, err
}

// questions makes request bodies, each about a new pod.
type questions struct {
	dice *rand.Rand
	made int
}

// about returns a body with node names and a new pod.
func (q *questions) about(nodes json.RawMessage) ([]byte, error) {
	q.made++
	pod := job(fmt.Sprintf("asked-%06d", q.made), sizes()[q.dice.IntN(len(sizes()))])
	pod.UID, pod.ResourceVersion, pod.CreationTimestamp = uuid.NewUUID(), strconv.Itoa(q.made), metav1.Now()
	return json.Marshal(struct {
		Pod       *corev1.Pod
		Nodes     *corev1.NodeList
		NodeNames json.RawMessage
	}{Pod: pod, NodeNames: nodes})
}

// aboutEach returns a body for each of several new pods.
func (q *questions) aboutEach(nodes json.RawMessage, pods int) ([][]byte, error) {
	bodies := make([][]byte, pods)
	for i := range bodies {
		var err error
		if bodies[i], err = q.about(nodes); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

// named encodes node names as JSON.
func named(nodes []string) json.RawMessage {
	encoded, _ := json.Marshal(nodes) // strings are always encodable
	return encoded
}

// job returns a training pod as the admission policy changes it.
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

// running returns an occupant's bound pod.
func running(o occupant) *corev1.Pod {
	pod := job(o.name, int(o.size>>10))
	pod.Spec.NodeName = string(o.node)
	pod.Annotations[gpushare.GPUAnnotation] = string(o.gpu)
	return pod
}
