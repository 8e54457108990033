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

// Validate says which of the three is missing where one of them is given.
func (f Files) Validate() error {
	if f.Given() && (f.Cert == "" || f.Key == "" || f.ClientCA == "") {
		return errors.New("--tls-cert, --tls-key and --client-ca belong together: give all three, or none and listen on a loopback address")
	}
	return nil
}

// every is how often the files are looked at, at most.
const every = time.Second

// Keeper keeps the credentials.
type Keeper struct {
	files Files
	log   *slog.Logger

	mu     sync.Mutex
	looked time.Time
	seen   state
	config *tls.Config
}

// state detects changes of the files. A secret's volume swaps a link: times and sizes are those of the link's targets.
type state [3]struct {
	modified time.Time
	size     int64
}

// Load reads the files.
func Load(files Files, log *slog.Logger) (*Keeper, error) {
	k := &Keeper{files: files, log: log, looked: time.Now()}
	var err error
	if k.seen, err = files.look(); err == nil {
		k.config, err = files.load()
	}
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return k, nil
}

// Config is for a server: each connection gets the credentials of its time.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current(), nil },
	}
}

func (k *Keeper) current() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) < every {
		return k.config
	}
	k.looked = time.Now()
	now, err := k.files.look()
	if err == nil && now == k.seen {
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
	k.seen, k.config = now, config
	k.log.Info("credentials were read again", "cert", k.files.Cert)
	return config
}

func (f Files) look() (state, error) {
	var now state
	for i, name := range []string{f.Cert, f.Key, f.ClientCA} {
		info, err := os.Stat(name)
		if err != nil {
			return now, err
		}
		now[i].modified, now[i].size = info.ModTime(), info.Size()
	}
	return now, nil
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
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, NextProtos: []string{"h2", "http/1.1"},
	}, nil
}
