package gctune

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIdleTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var timer IdleTimer
		server := timer.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }))
		request := func() { server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/filter", nil)) }
		time.Sleep(time.Hour)
		require.Zero(t, timer.Idle(), "no request yet")

		request()
		require.Zero(t, timer.Idle())
		time.Sleep(time.Minute)
		require.Equal(t, time.Minute, timer.Idle())

		go request()
		time.Sleep(time.Second / 2)
		require.Zero(t, timer.Idle(), "during a request")
		time.Sleep(time.Second)
		require.Equal(t, time.Second/2, timer.Idle())
	})
}
