package install_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestNewSecrets_IssuesOneCertificatePerProgram(t *testing.T) {
	secrets, err := install.NewSecrets(noon)
	require.NoError(t, err)
	require.NoError(t, secrets.Check(noon))

	users := map[string]string{}
	for _, s := range secrets {
		require.NotContains(t, s.Data, "ca.key", "no component may sign in the cluster")
		block, _ := pem.Decode(s.Data["tls.crt"])
		if block == nil {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		users[s.Metadata.Name] = cert.Subject.CommonName
		if s.Metadata.Name != "trellis-bus-etcd" {
			require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, cert.ExtKeyUsage, "only etcd may serve")
		}
	}
	require.Equal(t, map[string]string{
		"trellis-bus-coordinator": "coordinator", "trellis-bus-deviceplugin": "deviceplugin", "trellis-bus-etcd": "etcd",
		"trellis-bus-extender": "extender", "trellis-bus-tuner": "tuner",
	}, users)
}

func TestCheck_FindsCertificatesDueForRenewal(t *testing.T) {
	good, err := install.NewSecrets(noon)
	require.NoError(t, err)
	other, err := install.NewSecrets(noon)
	require.NoError(t, err)

	require.NoError(t, good.Check(noon.AddDate(0, 10, 0)))
	require.ErrorContains(t, good.Check(noon.AddDate(0, 11, 15)), "expired", "a month ahead")
	require.ErrorContains(t, good[1:].Check(noon), "holds no authority")
	require.ErrorContains(t, good[:2].Check(noon), "secret trellis-bus-")
	mixed := append(install.Secrets{other[0]}, good[1:]...)
	require.ErrorContains(t, mixed.Check(noon), "unknown authority")
	require.NotEqual(t, good.Authority(), other.Authority())
}

func TestManifest_RoundTrip(t *testing.T) {
	secrets, err := install.NewSecrets(noon)
	require.NoError(t, err)
	manifest, err := secrets.Manifest()
	require.NoError(t, err)
	var list struct{ Items install.Secrets }
	require.NoError(t, json.Unmarshal(manifest, &list))
	require.Equal(t, secrets, list.Items)
}
