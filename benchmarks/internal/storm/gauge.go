package storm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
)

const (
	// overCommittedGauge is a metric of the extender, served at its health port.
	overCommittedGauge = "trellis_extender_overcommitted_bytes"
	extenderPort       = 9440
	// gaugeWithin bounds one scrape.
	gaugeWithin = time.Second
)

// ParseGauge finds a gauge without labels in Prometheus' text format.
func ParseGauge(metrics io.Reader, name string) (value float64, found bool) {
	for lines := bufio.NewScanner(metrics); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return value, err == nil
		}
	}
	return 0, false
}

// overCommitted scrapes the extender. This machine can reach the pods of its nodes.
func (s *Storm) overCommitted(ctx context.Context) (bytes float64, known bool) {
	ctx, cancel := context.WithTimeout(ctx, gaugeWithin)
	defer cancel()
	if s.extender == "" {
		pods, err := s.connection.Kubernetes.CoreV1().Pods(cluster.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=extender"})
		if err != nil || len(pods.Items) == 0 {
			return 0, false
		}
		s.extender = pods.Items[0].Status.PodIP
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d/metrics", s.extender, extenderPort), nil)
	if err != nil {
		return 0, false
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		s.extender = ""
		return 0, false
	}
	defer func() { _ = reply.Body.Close() }()
	return ParseGauge(io.LimitReader(reply.Body, maxAnswer), overCommittedGauge)
}
