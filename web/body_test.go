package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

// slowClient sends a request body in pieces.
type slowClient struct {
	t    *testing.T
	conn net.Conn
}

func dial(t *testing.T, server *httptest.Server, header string) *slowClient {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	c := &slowClient{t, conn}
	c.send("POST / HTTP/1.1\r\nHost: test\r\nAccept: application/json\r\n" + header + "\r\n\r\n")
	return c
}

func (c *slowClient) send(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.conn, text)
	require.NoError(c.t, err)
}

func (c *slowClient) answer() (int, string) {
	c.t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c.conn), nil)
	require.NoError(c.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return res.StatusCode, string(body)
}

// counted reads the body and reports the number of bytes so far.
func counted(w http.ResponseWriter, r *http.Request, received chan<- int) error {
	total, buffer := 0, make([]byte, 1<<10)
	for {
		n, err := r.Body.Read(buffer)
		total += n
		if received != nil && n > 0 {
			received <- total
		}
		if errors.Is(err, io.EOF) {
			_, err = fmt.Fprintf(w, "%d bytes", total)
			return err
		}
		if err != nil {
			return apperr.Wrap(apperr.Invalid, err, "The body was cut off.")
		}
	}
}

// reading serves counted.
func reading(t *testing.T, b Bodies, received chan<- int) *httptest.Server {
	t.Helper()
	bundle := setup(t)
	handler := bundle.site.Handler(func(w http.ResponseWriter, r *http.Request) error { return counted(w, r, received) })
	server := httptest.NewServer(b.Middleware(b.Bound(handler)))
	t.Cleanup(server.Close)
	return server
}

func TestASilentBodyIsGivenUp(t *testing.T) {
	t.Parallel()
	server := reading(t, Bodies{Most: 1 << 20, Silence: 30 * time.Millisecond, Grace: time.Hour, Rate: 1}, nil)
	c := dial(t, server, "Content-Length: 1000")
	c.send("only the begin")
	status, body := c.answer()
	require.Equal(t, http.StatusRequestTimeout, status, body)
	require.Contains(t, body, "arrived too slowly")
}

// TestATrickleIsGivenUp: a body that is never silent but far below the minimum rate.
func TestATrickleIsGivenUp(t *testing.T) {
	t.Parallel()
	received := make(chan int)
	server := reading(t, Bodies{Most: 1 << 20, Silence: time.Hour, Grace: 200 * time.Millisecond, Rate: 1 << 20}, received)
	c := dial(t, server, "Content-Length: 1000")
	for i := range 3 {
		c.send("x")
		require.Equal(t, i+1, <-received)
	}
	status, _ := c.answer()
	require.Equal(t, http.StatusRequestTimeout, status)
}

// TestASlowUploadIsTaken: the upload takes longer than the grace period, at the minimum rate.
func TestASlowUploadIsTaken(t *testing.T) {
	t.Parallel()
	received := make(chan int)
	server := reading(t, Bodies{Most: 1 << 20, Silence: time.Minute, Grace: 20 * time.Millisecond, Rate: 1}, received)
	c := dial(t, server, "Content-Length: 2000")
	for i := range 20 {
		c.send(strings.Repeat("x", 100)) // earns 100 s at one byte a second
		require.Equal(t, 100*(i+1), <-received)
	}
	status, body := c.answer()
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "2000 bytes", body)
}

func TestAnOversizedBodyIsRefusedWithTheLimit(t *testing.T) {
	t.Parallel()
	server := reading(t, Bodies{Most: 2 << 20, Silence: time.Minute, Grace: time.Minute, Rate: 1}, nil)
	for name, r := range map[string]io.Reader{
		"announced": strings.NewReader(strings.Repeat("x", 3<<20)),
		"chunked":   io.MultiReader(strings.NewReader(strings.Repeat("x", 3<<20))),
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, r)
		require.NoError(t, err)
		req.Header.Set("Accept", "application/json")
		res, err := server.Client().Do(req)
		require.NoError(t, err, name)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode, name)
		require.Contains(t, string(body), "larger than 2 MiB", name)
	}
}

func TestStreamsMayBeSilent(t *testing.T) {
	t.Parallel()
	received := make(chan int)
	b := Bodies{Most: 1 << 10, Silence: time.Nanosecond, Grace: time.Nanosecond, Rate: 1 << 30}
	server := httptest.NewServer(b.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		AllowSilence(r.Context())
		_ = counted(w, r, received) // a failed read shows in the numbers of bytes
	})))
	t.Cleanup(server.Close)
	c := dial(t, server, "Content-Length: 20")
	for i := range 20 {
		c.send("x")
		require.Equal(t, i+1, <-received)
	}
	status, _ := c.answer()
	require.Equal(t, http.StatusOK, status)
}

// TestTheMediaTypeLiftsNoLimit: anyone can send the media type of a stream to any route.
func TestTheMediaTypeLiftsNoLimit(t *testing.T) {
	t.Parallel()
	for _, media := range []string{"application/grpc", "application/connect+json"} {
		server := reading(t, Bodies{Most: 1 << 20, Silence: 30 * time.Millisecond, Grace: time.Hour, Rate: 1}, nil)
		c := dial(t, server, "Content-Type: "+media+"\r\nContent-Length: 1000")
		require.NoError(t, c.conn.SetReadDeadline(time.Now().Add(time.Minute)))
		c.send("only the begin")
		status, _ := c.answer()
		require.Equal(t, http.StatusRequestTimeout, status, media)

		server = reading(t, Bodies{Most: 10, Silence: time.Minute, Grace: time.Minute, Rate: 1}, nil)
		c = dial(t, server, "Content-Type: "+media+"\r\nContent-Length: 20")
		c.send(strings.Repeat("x", 20))
		status, _ = c.answer()
		require.Equal(t, http.StatusRequestEntityTooLarge, status, media)
	}
}
