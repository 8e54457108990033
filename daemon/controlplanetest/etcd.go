package controlplanetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"

	"github.com/trellis-gpu/trellis/daemon/processtest"
)

// StartEtcd starts an empty etcd, waits until it is ready, and returns its URL. It does not sync its data to disk.
func StartEtcd(ctx context.Context, stockDir, dir string, flags ...string) (*processtest.Process, string, error) {
	clients, err := processtest.FreeAddress()
	if err != nil {
		return nil, "", err
	}
	peers, err := processtest.FreeAddress()
	if err != nil {
		return nil, "", err
	}
	data, err := os.MkdirTemp(dir, "etcd-")
	if err != nil {
		return nil, "", err
	}
	url, peerURL := "http://"+clients, "http://"+peers
	etcd, err := processtest.Start(processtest.Program{
		Path: filepath.Join(stockDir, "etcd"),
		Args: append([]string{
			"--data-dir=" + data,
			"--unsafe-no-fsync",
			"--log-level=error",
			"--listen-client-urls=" + url,
			"--advertise-client-urls=" + url,
			"--listen-peer-urls=" + peerURL,
			"--initial-advertise-peer-urls=" + peerURL,
			"--initial-cluster=default=" + peerURL,
		}, flags...),
		Dir: dir,
	})
	if err != nil {
		return nil, "", err
	}
	return etcd, url, etcd.AwaitURL(ctx, url+"/health")
}

// serviceAccountKey returns a new key in PEM.
func serviceAccountKey() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})), err
}
