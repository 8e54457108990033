package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Files are PEM files: the server's certificate with its chain and key, and the authorities that sign clients' certificates.
type Files struct{ Cert, Key, ClientCA string }

// Given reports whether TLS is configured.
func (f Files) Given() bool { return f != Files{} }

// Validate returns an error unless all three files are given, or none.
func (f Files) Validate() error {
	if f.Given() && (f.Cert == "" || f.Key == "" || f.ClientCA == "") {
		return errors.New("--tls-cert, --tls-key and --client-ca belong together: give all three, or none and listen on a loopback address")
	}
	return nil
}

// checkInterval is the minimum time between two checks of the files.
const checkInterval = time.Second

// Keeper holds the latest valid credentials.
type Keeper struct {
	files Files
	log   *slog.Logger

	mu      sync.Mutex
	checked time.Time
	version version // of config
	config  *tls.Config
}

// version identifies the contents of the files. In the volume of a Secret they are links, and the times and sizes are those
// of the links' targets.
type version [3]struct {
	modified time.Time
	size     int64
}

// Load reads the files.
func Load(files Files, log *slog.Logger) (*Keeper, error) {
	k := &Keeper{files: files, log: log, checked: time.Now()}
	var err error
	if k.version, err = files.stat(); err == nil {
		k.config, err = files.load()
	}
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return k, nil
}

// Config returns the configuration of a server. Each connection uses the current credentials.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current(), nil },
	}
}

// current returns the credentials. It reads the files again if they have changed.
func (k *Keeper) current() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.checked) < checkInterval {
		return k.config
	}
	k.checked = time.Now()
	found, err := k.files.stat()
	if err == nil && found == k.version {
		return k.config
	}
	var config *tls.Config
	if err == nil {
		config, err = k.files.load()
	}
	if err != nil {
		k.log.Error("cannot use the new certificates, continuing with the old ones", "err", err)
		return k.config
	}
	k.version = found
	k.config = config
	k.log.Info("credentials were read again", "cert", k.files.Cert)
	return config
}

func (f Files) stat() (version, error) {
	var v version
	for i, name := range []string{f.Cert, f.Key, f.ClientCA} {
		info, err := os.Stat(name)
		if err != nil {
			return v, err
		}
		v[i].modified = info.ModTime()
		v[i].size = info.Size()
	}
	return v, nil
}

func (f Files) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	authorities, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("client authority %s holds no certificate", f.ClientCA)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    pool,
		NextProtos:   []string{"h2", "http/1.1"},
	}, nil
}
