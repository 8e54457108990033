package devicebench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// latencies measures the calls of the fake kubelet to the plugin. It also fails a call whose answer kubelet would have
// to correct: the benchmark measures allocations as the plugin prefers them.
type latencies struct {
	mu                 sync.Mutex
	allocate, prestart time.Duration // of the last call
}

// intercept is a grpc.UnaryClientInterceptor. The measured time is that of the call alone, without the fake's own work.
func (l *latencies) intercept(
	ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	begin := time.Now()
	err := invoke(ctx, method, request, reply, connection, options...)
	took := time.Since(begin)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch method {
	case pluginapi.DevicePlugin_GetPreferredAllocation_FullMethodName:
		return checkPreferred(request.(*pluginapi.PreferredAllocationRequest), reply.(*pluginapi.PreferredAllocationResponse))
	case pluginapi.DevicePlugin_Allocate_FullMethodName:
		l.allocate = took
	case pluginapi.DevicePlugin_PreStartContainer_FullMethodName:
		l.prestart = took
	}
	return nil
}

func (l *latencies) last() (allocate, prestart time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.allocate, l.prestart
}

// checkPreferred returns an error unless the plugin prefers as many available IDs as the container requests.
func checkPreferred(request *pluginapi.PreferredAllocationRequest, reply *pluginapi.PreferredAllocationResponse) error {
	requested := request.GetContainerRequests()[0]
	preferred := reply.GetContainerResponses()[0].GetDeviceIDs()
	if len(preferred) != int(requested.GetAllocationSize()) {
		return fmt.Errorf("the plugin prefers %d IDs for %d units", len(preferred), requested.GetAllocationSize())
	}
	for _, id := range preferred {
		if !slices.Contains(requested.GetAvailableDeviceIDs(), id) {
			return fmt.Errorf("the plugin prefers ID %s, which is not available", id)
		}
	}
	return nil
}
