package election

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// LeaseName is the name of the Lease.
const LeaseName = "trellis-tuner"

// The timing of the election, as in kube-scheduler.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// NewClient returns a client of a kubeconfig's cluster, or of the pod's own cluster without one.
func NewClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := rest.InClusterConfig()
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf(
			"connecting to the API server for leader election (--leader-elect=false runs without): %w", err)
	}
	config.Timeout = renewDeadline / 2
	config.UserAgent = "trellis-tuner"
	return kubernetes.NewForConfig(config)
}

// Run calls advise whenever this process becomes the leader, until ctx ends. It never runs two calls at a time.
func Run(
	ctx context.Context, client kubernetes.Interface, namespace string, log *slog.Logger, advise func(context.Context),
) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("determining this candidate's identity: %w", err)
	}
	identity := host + "_" + string(uuid.NewUUID())
	var leading sync.Mutex
	lead := func(ctx context.Context) {
		leading.Lock()
		defer leading.Unlock()
		if ctx.Err() == nil {
			advise(ctx)
		}
	}
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(log.Handler()))
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(electionConfig(client, namespace, identity, log, lead))
		if err != nil {
			return fmt.Errorf("configuring the leader election: %w", err)
		}
		elector.Run(ctx) // may return before advise has returned
	}
	leading.Lock()
	defer leading.Unlock()
	return context.Cause(ctx)
}

func electionConfig(
	client kubernetes.Interface, namespace, identity string, log *slog.Logger, lead func(context.Context),
) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: LeaseName}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration:   leaseDuration,
		RenewDeadline:   renewDeadline,
		RetryPeriod:     retryPeriod,
		ReleaseOnCancel: true,
		Name:            LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: lead,
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				log.Info("a leader was elected", "leader", leader, "self", leader == identity)
			},
		},
	}
}
