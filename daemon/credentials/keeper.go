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

// Files are the paths of PEM files: the server's certificate chain, its key, and the CAs of clients' certificates.
type Files struct{ Cert, Key, ClientCA string }

// Given reports whether TLS is configured.
func (f Files) Given() bool { return f != Files{} }

// Validate returns an error if some of the three are set and others are not.
func (f Files) Validate() error {
	if f.Given() && (f.Cert == "" || f.Key == "" || f.ClientCA == "") {
		return errors.New("--tls-cert, --tls-key and --client-ca belong together: give all three, or none and listen on a loopback address")
	}
	return nil
}

// checkInterval is the shortest time between two checks of the files.
const checkInterval = time.Second

// Keeper keeps the credentials of a server up to date.
type Keeper struct {
	files Files
	log   *slog.Logger

	mu      sync.Mutex
	checked time.Time  // time of the last check
	loaded  fileStates // of the files in config
	config  *tls.Config
}

// fileStates detects changes of the files. The files of a Secret volume are symbolic links, which kubelet redirects on an
// update: the times and sizes are those of the targets.
type fileStates [3]struct {
	modified time.Time
	size     int64
}

// Load reads the files.
func Load(files Files, log *slog.Logger) (*Keeper, error) {
	k := &Keeper{files: files, log: log, checked: time.Now()}
	var err error
	if k.loaded, err = files.stat(); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if k.config, err = files.load(); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return k, nil
}

// Config returns the configuration of a server. Each connection gets the current credentials.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current(), nil },
	}
}

// current returns the configuration for a new connection. It reloads the files if they have changed.
func (k *Keeper) current() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.checked) < checkInterval {
		return k.config
	}
	k.checked = time.Now()
	if err := k.reload(); err != nil {
		k.log.Error("cannot use the new certificates, continuing with the old ones", "err", err)
	}
	return k.config
}

func (k *Keeper) reload() error {
	states, err := k.files.stat()
	if err != nil || states == k.loaded {
		return err
	}
	config, err := k.files.load()
	if err != nil {
		return err
	}
	k.loaded = states
	k.config = config
	k.log.Info("credentials were read again", "cert", k.files.Cert)
	return nil
}

func (f Files) stat() (states fileStates, err error) {
	for i, name := range []string{f.Cert, f.Key, f.ClientCA} {
		info, err := os.Stat(name)
		if err != nil {
			return states, err
		}
		states[i].modified = info.ModTime()
		states[i].size = info.Size()
	}
	return states, nil
}

func (f Files) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	cas, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(cas) {
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
