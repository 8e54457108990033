package stock

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// source lays out files that pin a build.
func source(t *testing.T) string {
	dir := t.TempDir()
	for _, file := range pins(dir, slices.Concat(All(), Registry(), Kueue(), VPA(), JobSet(), PyTorchJob(), Older())) {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte("pinned\n"), 0o644))
	}
	return dir
}

func TestKey_DependsOnAllInputsOfTheBuild(t *testing.T) {
	dir := source(t)
	key, err := Key(dir, "go1.26.8", All())
	require.NoError(t, err)
	require.Regexp(t, `^v1\.36\.4-[0-9a-f]{12}$`, key)

	elsewhere, err := Key(source(t), "go1.26.8", All())
	require.NoError(t, err)
	require.Equal(t, key, elsewhere, "where the source lies does not matter")

	other, err := Key(dir, "go1.26.9", All())
	require.NoError(t, err)
	require.NotEqual(t, key, other)

	for _, file := range pins(dir, All()) {
		require.NoError(t, os.WriteFile(file, []byte("changed\n"), 0o644))
		changed, err := Key(dir, "go1.26.8", All())
		require.NoError(t, err)
		require.NotEqual(t, key, changed, file)
		require.NoError(t, os.WriteFile(file, []byte("pinned\n"), 0o644))
	}
	_, err = Key(t.TempDir(), "go1.26.8", All())
	require.ErrorContains(t, err, "pin the stock programs")
}

func TestKey_ProgramsOfTestsHaveTheirOwn(t *testing.T) {
	for prefix, programs := range map[string][]Program{
		"registry":                        Registry(),
		"kueue-" + kueueVersion:           Kueue(),
		"vpa":                             VPA(),
		"jobset-" + jobSetVersion:         JobSet(),
		"pytorchjob-" + pyTorchJobVersion: PyTorchJob(),
		"older":                           Older(),
	} {
		dir := source(t)
		key, err := Key(dir, "go1.26.8", programs)
		require.NoError(t, err)
		require.Regexp(t, `^`+regexp.QuoteMeta(prefix)+`-[0-9a-f]{12}$`, key)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "internal/pause/main.go"), []byte("changed\n"), 0o644))
		again, err := Key(dir, "go1.26.8", programs)
		require.NoError(t, err)
		require.Equal(t, key, again)
	}
}

// The version that a program reports is the version that its module pins.
func TestPrograms_ReportTheirPinnedVersion(t *testing.T) {
	for module, programs := range map[string][]Program{"sigs.k8s.io/kueue": Kueue(), "k8s.io/kubernetes": append(Older(), ControlPlane()[1:]...)} {
		for _, p := range programs {
			pins, err := os.ReadFile(filepath.Join("..", "..", p.Module, "go.mod"))
			require.NoError(t, err)
			pinned := regexp.MustCompile(`\t` + module + ` (v\S+)`).FindSubmatch(pins)
			require.NotNil(t, pinned, p.Module)
			require.Regexp(t, `(?i)gitVersion=`+regexp.QuoteMeta(string(pinned[1]))+`( |$)`, p.LDFlags, p.Name)
		}
	}
}

// These controllers report no version. Their cache folders and the manifests that the tests apply are those of the pinned modules.
func TestControllers_NameThePinnedVersion(t *testing.T) {
	for module, pinned := range map[string]string{
		jobSetModule:     "sigs.k8s.io/jobset " + jobSetVersion,
		pyTorchJobModule: "github.com/kubeflow/training-operator " + pyTorchJobVersion,
	} {
		pins, err := os.ReadFile(filepath.Join("..", "..", module, "go.mod"))
		require.NoError(t, err)
		require.Contains(t, string(pins), "\t"+pinned+" ")
	}
}

func TestPrograms_EachTargetHasOnlyItsOwn(t *testing.T) {
	require.NotContains(t, Names(ControlPlane()), "kubelet")
	require.NotContains(t, Names(ControlPlane()), "containerd")
	require.NotContains(t, Names(Node()), "etcd")
	require.Len(t, All(), len(ControlPlane())+len(Node()))
}

func TestMissing_IncludesUnfinishedPrograms(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "etcd"), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl"), nil, 0o644)) // not a program yet
	require.NoError(t, os.Mkdir(filepath.Join(dir, "kube-scheduler"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".kube-apiserver.building"), nil, 0o755))
	require.Equal(t, "kube-apiserver, kube-controller-manager, kube-scheduler, kubectl", Names(Missing(dir, ControlPlane())))
}

func TestCacheRoot_Precedence(t *testing.T) {
	tests := map[string]struct {
		env        map[string]string
		want, fail string
	}{
		"asked for":   {map[string]string{"TRELLIS_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c", ""},
		"XDG":         {map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/trellis", ""},
		"home":        {map[string]string{"HOME": "/h"}, "/h/.cache/trellis", ""},
		"nowhere":     {nil, "", "TRELLIS_CACHE or HOME"},
		"empty is no": {map[string]string{"TRELLIS_CACHE": "", "HOME": "/h"}, "/h/.cache/trellis", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := CacheRoot(func(key string) string { return tc.env[key] })
			if tc.fail != "" {
				require.ErrorContains(t, err, tc.fail)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestFindSource_SearchesUpwards(t *testing.T) {
	repository := t.TempDir()
	local := filepath.Join(repository, "deploy", "local")
	pin := filepath.Join(local, "stock", "kubernetes", "go.mod")
	require.NoError(t, os.MkdirAll(filepath.Dir(pin), 0o755))
	require.NoError(t, os.WriteFile(pin, nil, 0o644))
	for _, from := range []string{repository, filepath.Join(repository, "bin"), local, filepath.Join(local, "internal", "stock")} {
		found, err := FindSource("/nonexistent", from)
		require.NoError(t, err)
		require.Equal(t, local, found)
	}
	_, err := FindSource(t.TempDir())
	require.ErrorContains(t, err, "--stock-dir")
}
