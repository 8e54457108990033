package install_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/stock"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// olderFolder returns a folder of stock programs with the API server of an older minor version of Kubernetes.
func olderFolder(t *testing.T, minor int) string {
	t.Helper()
	current := stockFolder(t)
	key, err := stock.Key("../..", runtime.Version(), stock.Older())
	require.NoError(t, err)
	cache, err := stock.CacheRoot(os.Getenv)
	require.NoError(t, err)
	server := filepath.Join(cache, "stock", key, fmt.Sprintf("kube-apiserver-1.%d", minor))
	if _, err := os.Stat(server); err != nil {
		t.Skipf("SKIPPED: no %s: `make test-older` builds it, which takes minutes", server)
	}
	folder := t.TempDir()
	require.NoError(t, os.Symlink(server, filepath.Join(folder, "kube-apiserver")))
	for _, program := range []string{"etcd", "kubectl"} {
		require.NoError(t, os.Symlink(filepath.Join(current, program), filepath.Join(folder, program)))
	}
	return folder
}

// TestOlder_InstallAdapts installs into API servers of older releases as they come.
func TestOlder_InstallAdapts(t *testing.T) {
	for minor, resizes := range map[int]bool{31: false, 33: true, 35: true} {
		t.Run(fmt.Sprintf("1.%d", minor), func(t *testing.T) {
			api := startAPIServerOf(t, olderFolder(t, minor))
			require.Contains(t, api.text(t, "/version"), fmt.Sprintf(`"minor": "%d"`, minor))
			out := api.installWithoutMutatingPolicies(t)
			if resizes {
				require.NotContains(t, out, "cannot resize")
			} else {
				require.Contains(t, out, "cannot resize pods in place")
			}
		})
	}
}

// TestOlder_ValidatesPodsByHand checks pods whose limit and scheduler the user has written.
func TestOlder_ValidatesPodsByHand(t *testing.T) {
	for _, minor := range []int{31, 33, 35} {
		t.Run(fmt.Sprintf("1.%d", minor), func(t *testing.T) {
			api := startAPIServerOf(t, olderFolder(t, minor))
			installed(t, api.config(t))
			require.Eventually(t, func() bool {
				_, refused := api.submit(t, request{Annotations: map[string]string{gpushare.MemoryAnnotation: "none"}})
				return refused != ""
			}, 30*time.Second, 200*time.Millisecond)
			for _, r := range requests(t) {
				t.Run(r.Name, func(t *testing.T) {
					if r.Limit == "" {
						r.Limit = strconv.Itoa(max(r.Units, 1))
					}
					_, refused := api.submit(t, r)
					if r.Refused == "" {
						require.Empty(t, refused)
					} else {
						require.Contains(t, refused, r.Refused)
					}
				})
			}
		})
	}
}

// TestOlder_AnnotationAloneWithTheBetaAPI turns mutating policies on, as an administrator of 1.34 or 1.35 can.
func TestOlder_AnnotationAloneWithTheBetaAPI(t *testing.T) {
	api := startAPIServerOf(t, olderFolder(t, 35), "--feature-gates=MutatingAdmissionPolicy=true",
		"--runtime-config=admissionregistration.k8s.io/v1beta1=true")
	require.NotContains(t, installed(t, api.config(t)), "note: the cluster has no MutatingAdmissionPolicy")
	api.settle(t)
	for _, r := range requests(t) {
		t.Run(r.Name, func(t *testing.T) {
			pod, refused := api.submit(t, r)
			if r.Refused != "" {
				require.Contains(t, refused, r.Refused)
				return
			}
			require.Empty(t, refused)
			require.Equal(t, gpushare.SchedulerName, pod.Spec.SchedulerName)
			require.Equal(t, strconv.Itoa(r.Units), pod.Spec.Containers[0].Resources.Limits[gpushare.Resource])
		})
	}
	code, answer := api.post(t, "/api/v1/namespaces/default/pods?dryRun=All", sharePod("p", "8Gi"))
	require.Equal(t, http.StatusCreated, code, string(answer))
}
