package credentials_test

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/credentials"
	"github.com/trellis-gpu/trellis/daemon/credentials/credentialstest"
)

// shake connects a client to the keeper, and returns the name on the certificate that it is shown. Both sides must agree.
func shake(t *testing.T, k *credentials.Keeper, trusted *x509.CertPool, client *tls.Certificate) (string, error) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	served := make(chan error, 1)
	go func() {
		defer far.Close()
		served <- tls.Server(far, k.Config()).Handshake()
	}()
	config := &tls.Config{RootCAs: trusted, InsecureSkipVerify: trusted == nil, ServerName: "extender"}
	if client != nil {
		config.Certificates = []tls.Certificate{*client}
	}
	connection := tls.Client(near, config)
	if err := connection.Handshake(); err != nil {
		return "", err
	}
	go func() { _, _ = connection.Read(make([]byte, 1)) }() // TLS 1.3: the client hears of a refusal only now
	if err := <-served; err != nil {
		return "", err
	}
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

func client(a credentialstest.Authority) *tls.Certificate {
	return a.Certificate("scheduler", x509.ExtKeyUsageClientAuth)
}

func TestOnlyClientsOfTheAuthorityConnect(t *testing.T) {
	ours, theirs := credentialstest.New(t), credentialstest.New(t)
	k, err := credentials.Load(ours.Server(t.TempDir(), "extender"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, err = shake(t, k, ours.Pool(), client(ours))
	require.NoError(t, err)
	_, err = shake(t, k, ours.Pool(), nil)
	require.ErrorContains(t, err, "didn't provide a certificate")
	_, err = shake(t, k, ours.Pool(), client(theirs))
	require.ErrorContains(t, err, "unknown authority")
	_, err = shake(t, k, ours.Pool(), ours.Certificate("extender", x509.ExtKeyUsageServerAuth))
	require.ErrorContains(t, err, "incompatible key usage", "a server's certificate is no client's")
}

func TestRenewedCertificatesServeWithoutARestart(t *testing.T) {
	a, dir := credentialstest.New(t), t.TempDir()
	k, err := credentials.Load(a.Server(dir, "extender"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	scheduler := client(a)
	shown := func() string {
		t.Helper()
		name, err := shake(t, k, a.Pool(), scheduler)
		require.NoError(t, err)
		return name
	}
	before := shown()

	files := a.Server(dir, "extender")
	later := func(by time.Duration) { // as if written then
		for _, name := range []string{files.Cert, files.Key, files.ClientCA} {
			require.NoError(t, os.Chtimes(name, time.Now().Add(by), time.Now().Add(by)))
		}
	}
	later(time.Minute)
	require.Eventually(t, func() bool { return shown() != before }, 10*time.Second, 50*time.Millisecond)
	renewed := shown()

	require.NoError(t, os.WriteFile(files.Key, []byte("half a key"), 0o600))
	later(2 * time.Minute)
	require.Never(t, func() bool { return shown() != renewed }, 1500*time.Millisecond, 100*time.Millisecond, "the last good one serves on")
	require.NoError(t, os.Remove(files.Cert))
	require.Equal(t, renewed, shown())
}

func TestFilesThatCanNotBeUsedAreNamed(t *testing.T) {
	a, dir := credentialstest.New(t), t.TempDir()
	for says, spoil := range map[string]func(credentials.Files){
		"tls.crt":              func(f credentials.Files) { _ = os.Remove(f.Cert) },
		"tls.key":              func(f credentials.Files) { _ = os.WriteFile(f.Key, nil, 0o600) },
		"holds no certificate": func(f credentials.Files) { _ = os.WriteFile(f.ClientCA, []byte("none"), 0o600) },
	} {
		files := a.Server(dir, "extender")
		spoil(files)
		_, err := credentials.Load(files, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, says)
	}
	require.NoError(t, credentials.Files{}.Validate())
	require.NoError(t, credentials.Files{Cert: "a", Key: "b", ClientCA: "c"}.Validate())
	require.ErrorContains(t, credentials.Files{Cert: "a", Key: "b"}.Validate(), "belong together")
}
