package slotsocket_test

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/slotsocket"
)

// node has a folder of slots with the slot "one", and a private folder.
type node struct {
	*testing.T
	slots, private string
}

func newNode(t *testing.T) node {
	n := node{T: t, slots: t.TempDir(), private: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(n.slots, "one"), 0o755))
	return n
}

func (n node) path() string { return filepath.Join(n.slots, "one", "x.sock") }

func (n node) listen() *slotsocket.Listener {
	l, err := slotsocket.Listen(n.private, n.slots, "one", "x.sock")
	require.NoError(n, err)
	n.Cleanup(func() { _ = l.Close() })
	return l
}

func TestListen_ReplacesAFileInPlaceOfTheSocket(t *testing.T) {
	for name, create := range map[string]func(n node, secret string){
		"nothing":            func(node, string) {},
		"a file":             func(n node, _ string) { require.NoError(n, os.WriteFile(n.path(), nil, 0o600)) },
		"a stale socket":     func(n node, _ string) { require.NoError(n, n.listen().Close()) },
		"a link to a secret": func(n node, secret string) { require.NoError(n, os.Symlink(secret, n.path())) },
		"a stale socket that was not moved": func(n node, _ string) {
			require.NoError(n, n.listen().Close())
			require.NoError(n, os.Rename(n.path(), filepath.Join(n.private, "x.sock")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			secret := filepath.Join(t.TempDir(), "secret")
			require.NoError(t, os.WriteFile(secret, nil, 0o600))
			create(n, secret)
			n.listen()
			client, err := net.Dial("unix", n.path())
			require.NoError(t, err)
			require.NoError(t, client.Close())

			info, err := os.Lstat(n.path())
			require.NoError(t, err)
			require.Equal(t, os.ModeSocket|0o666, info.Mode())
			info, err = os.Stat(secret)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
			left, err := os.ReadDir(n.private)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

func TestListen_AcceptsAFolderWithALongPath(t *testing.T) {
	n := newNode(t)
	n.private = filepath.Join(n.private, strings.Repeat("x", 200))
	require.NoError(t, os.Mkdir(n.private, 0o700))
	n.listen()
	client, err := net.Dial("unix", n.path())
	require.NoError(t, err)
	require.NoError(t, client.Close())
}

func TestListen_RejectsNamesOutsideTheFolder(t *testing.T) {
	n := newNode(t)
	for _, slot := range []string{"", ".", "..", "../x", "a/b", "/etc", "a\x00", "does-not-exist"} {
		_, err := slotsocket.Listen(n.private, n.slots, slot, "x.sock")
		require.Error(t, err, "%q", slot)
	}
	left, err := os.ReadDir(n.private)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestListener_NoticesThatItsFileIsGone(t *testing.T) {
	n := newNode(t)
	first := n.listen()
	require.True(t, first.InPlace())
	second := n.listen()
	require.False(t, first.InPlace(), "replaced")
	require.True(t, second.InPlace())
	second.Remove()
	require.False(t, second.InPlace(), "removed")
}

// A burst of connections is accepted at once. Serve goes on after a connection that its server could not use, and ends with
// the socket.
func TestListener_ServesUntilItIsClosed(t *testing.T) {
	n := newNode(t)
	l := n.listen()
	accepted, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		l.Serve(t.Context(), 30, slog.New(slog.DiscardHandler), func(c *net.UnixConn) error {
			_ = c.Close()
			accepted <- struct{}{}
			return os.ErrInvalid
		})
	}()
	for range 30 {
		client, err := net.Dial("unix", n.path())
		require.NoError(t, err)
		<-accepted
		require.NoError(t, client.Close())
	}
	require.NoError(t, l.Close())
	<-ended
}
