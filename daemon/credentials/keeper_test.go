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

// handshake connects a client to a server with the keeper's credentials. It returns the serial number of the server's
// certificate, or the error of either side.
func handshake(t *testing.T, k *credentials.Keeper, trusted *x509.CertPool, client *tls.Certificate) (string, error) {
	t.Helper()
	clientEnd, serverEnd := net.Pipe()
	defer clientEnd.Close()
	served := make(chan error, 1)
	go func() {
		defer serverEnd.Close()
		served <- tls.Server(serverEnd, k.Config()).Handshake()
	}()
	config := &tls.Config{RootCAs: trusted, InsecureSkipVerify: trusted == nil, ServerName: "extender"}
	if client != nil {
		config.Certificates = []tls.Certificate{*client}
	}
	connection := tls.Client(clientEnd, config)
	if err := connection.Handshake(); err != nil {
		return "", err
	}
	go func() { _, _ = connection.Read(make([]byte, 1)) }() // TLS 1.3: the client receives a rejection only now
	if err := <-served; err != nil {
		return "", err
	}
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

func client(a credentialstest.Authority) *tls.Certificate {
	return a.Certificate("scheduler", x509.ExtKeyUsageClientAuth)
}

func TestKeeper_RequiresClientCertificates(t *testing.T) {
	ours, theirs := credentialstest.New(t), credentialstest.New(t)
	k, err := credentials.Load(ours.Server(t.TempDir(), "extender"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, err = handshake(t, k, ours.Pool(), client(ours))
	require.NoError(t, err)
	_, err = handshake(t, k, ours.Pool(), nil)
	require.ErrorContains(t, err, "didn't provide a certificate")
	_, err = handshake(t, k, ours.Pool(), client(theirs))
	require.ErrorContains(t, err, "unknown authority")
	_, err = handshake(t, k, ours.Pool(), ours.Certificate("extender", x509.ExtKeyUsageServerAuth))
	require.ErrorContains(t, err, "incompatible key usage", "a server's certificate is not a client's")
}

func TestKeeper_ReloadsRenewedCertificates(t *testing.T) {
	a, dir := credentialstest.New(t), t.TempDir()
	k, err := credentials.Load(a.Server(dir, "extender"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	scheduler := client(a)
	serial := func() string {
		t.Helper()
		serial, err := handshake(t, k, a.Pool(), scheduler)
		require.NoError(t, err)
		return serial
	}
	before := serial()

	files := a.Server(dir, "extender")
	writtenIn := func(by time.Duration) {
		for _, name := range []string{files.Cert, files.Key, files.ClientCA} {
			require.NoError(t, os.Chtimes(name, time.Now().Add(by), time.Now().Add(by)))
		}
	}
	writtenIn(time.Minute)
	require.Eventually(t, func() bool { return serial() != before }, 10*time.Second, 50*time.Millisecond)
	renewed := serial()

	require.NoError(t, os.WriteFile(files.Key, []byte("half a key"), 0o600))
	writtenIn(2 * time.Minute)
	require.Never(t, func() bool { return serial() != renewed }, 1500*time.Millisecond, 100*time.Millisecond,
		"the last valid certificate stays")
	require.NoError(t, os.Remove(files.Cert))
	require.Equal(t, renewed, serial())
}

func TestLoad_NamesInvalidFiles(t *testing.T) {
	a, dir := credentialstest.New(t), t.TempDir()
	for want, spoil := range map[string]func(credentials.Files){
		"tls.crt":              func(f credentials.Files) { _ = os.Remove(f.Cert) },
		"tls.key":              func(f credentials.Files) { _ = os.WriteFile(f.Key, nil, 0o600) },
		"holds no certificate": func(f credentials.Files) { _ = os.WriteFile(f.ClientCA, []byte("none"), 0o600) },
	} {
		files := a.Server(dir, "extender")
		spoil(files)
		_, err := credentials.Load(files, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, credentials.Files{}.Validate())
	require.NoError(t, credentials.Files{Cert: "a", Key: "b", ClientCA: "c"}.Validate())
	require.ErrorContains(t, credentials.Files{Cert: "a", Key: "b"}.Validate(), "belong together")
}
