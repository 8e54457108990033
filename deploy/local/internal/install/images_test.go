package install_test

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fake "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
	"github.com/trellis-gpu/trellis/deploy/local/internal/registry"
)

// fakeKubectl answers every call with the pods.
func fakeKubectl(t *testing.T, pods string) install.Kubectl {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho '"+pods+"'\n"), 0o755))
	return install.Kubectl{Program: path}
}

func pushTo(t *testing.T, target registry.Target, names ...string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, []byte("program"), 0o755))
	var images []image.Image
	for _, name := range names {
		images = append(images, image.Image{Name: name, Files: map[string]string{"/" + name: program}})
	}
	_, err := target.Push(t.Context(), images, false, io.Discard)
	require.NoError(t, err)
}

func TestResolveImages_PrefersTheRegistryThenTheControlPlane(t *testing.T) {
	server := httptest.NewServer(fake.New(fake.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	target := registry.Target{Address: strings.TrimPrefix(server.URL, "http://") + "/trellis", Tag: "v1"}
	kubeadm := fakeKubectl(t, `{"items":[{"spec":{"containers":[`+
		`{"name":"etcd","image":"example.com:5000/etcd:3.6.5-0"},{"name":"kube-scheduler","image":"example.com/kube-scheduler:v1.36.4"}]}}]}`)
	managed := fakeKubectl(t, `{"items":[]}`)

	_, err := install.ResolveImages(t.Context(), kubeadm, target, nil, io.Discard)
	require.ErrorContains(t, err, "make images REGISTRY="+target.Address+" TAG=v1")

	pushTo(t, target, image.Binaries()...)
	images, err := install.ResolveImages(t.Context(), kubeadm, target, nil, io.Discard)
	require.NoError(t, err)
	require.Len(t, images, 6)
	require.Regexp(t, "^"+target.Address+"/coordinator@sha256:[0-9a-f]{64}$", images[0].String())
	require.Equal(t, install.Image{Name: "etcd", NewName: "example.com:5000/etcd", Tag: "3.6.5-0"}, images[4])
	require.Equal(t, install.Image{Name: "kube-scheduler", NewName: "example.com/kube-scheduler", Tag: "v1.36.4"}, images[5])

	_, err = install.ResolveImages(t.Context(), managed, target, nil, io.Discard)
	require.ErrorContains(t, err, "WITH_STOCK=1")
	require.ErrorContains(t, err, "--etcd-image")
	chosen := map[string]string{"etcd": "example.com/etcd:3@sha256:abc", "kube-scheduler": "example.com/s"}
	_, err = install.ResolveImages(t.Context(), managed, target, chosen, io.Discard)
	require.ErrorContains(t, err, `--kube-scheduler-image "example.com/s": write NAME:TAG`)

	delete(chosen, "kube-scheduler")
	pushTo(t, target, "kube-scheduler")
	images, err = install.ResolveImages(t.Context(), managed, target, chosen, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "example.com/etcd@sha256:abc", images[4].String())
	require.Contains(t, images[5].String(), target.Address+"/kube-scheduler@sha256:")
}
