package storm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// slotGrace is slightly longer than the time for which the device plugin keeps a slot without a pod.
	slotGrace = 90 * time.Second
	// resourcesWithin bounds a call of kubelet, maxAnswer the bytes of its reply.
	resourcesWithin = 5 * time.Second
	maxAnswer       = 16 << 20
)

// node has the paths of a local node on this machine's disk.
type node struct {
	name   string
	folder string
	// seen is the modification time of the last checkpoint that was read.
	seen time.Time
}

// checkpoint reads kubelet's checkpoint. It returns nil if the file is missing or unchanged.
func (n *node) checkpoint() (map[growth.PodUID][]string, error) {
	path := filepath.Join(n.folder, "kubelet", "device-plugins", "kubelet_internal_checkpoint")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().Equal(n.seen) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	held, err := ParseCheckpoint(text)
	if err == nil {
		n.seen = info.ModTime()
	}
	return held, err
}

// resources returns the device IDs of our resource from kubelet's PodResources API, by the pod's name.
func (n *node) resources(ctx context.Context, namespace string) (map[string][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, resourcesWithin)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+filepath.Join(n.folder, "kubelet", "pod-resources", "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	reply, err := podresources.NewPodResourcesListerClient(connection).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("asking %s's kubelet: %w", n.name, err)
	}
	held := map[string][]string{}
	for _, pod := range reply.GetPodResources() {
		for _, container := range pod.GetContainers() {
			for _, device := range container.GetDevices() {
				if device.GetResourceName() == gpushare.Resource && pod.GetNamespace() == namespace {
					held[pod.GetName()] = append(held[pod.GetName()], device.GetDeviceIds()...)
				}
			}
		}
	}
	return held, nil
}

// slots returns the sets of device IDs that have a slot folder, and those whose slot is older than slotGrace.
func (n *node) slots(now time.Time) (all, old [][]string, err error) {
	files, err := filepath.Glob(filepath.Join(n.folder, "trellis", gpushare.SlotsDir, "*", ".ids"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, nil, err
		}
		ids := strings.Fields(string(text))
		all = append(all, ids)
		if info, err := os.Stat(filepath.Dir(file)); err == nil && now.Sub(info.ModTime()) > slotGrace {
			old = append(old, ids)
		}
	}
	return all, old, err
}
