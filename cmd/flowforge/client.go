package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/cmd/flowforge/settings"
	"github.com/flowforge/flowforge/web"
)

const maxRedirects = 10

// client calls the JSON API of a server.
type client struct {
	base    string
	token   string
	project string // "" is the project that the token's owner selected
	local   bool   // the token belongs to the local administrator
	http    *http.Client
}

// newClient reads --server. It takes the token from the environment, from the file of
// `flowforge login --token`, or from the file that a server on this machine wrote. That token is
// sent only to this machine.
func newClient(cmd *cobra.Command) (*client, error) {
	server, err := serverFlag(cmd)
	if err != nil {
		return nil, err
	}
	project, _ := cmd.Flags().GetString("project")
	c := &client{base: server, token: clientSettings().Token, project: project, http: newHTTPClient()}
	if c.token != "" {
		return c, nil
	}
	stored, err := loadCredentials()
	if err != nil {
		return nil, err
	}
	if c.token = stored.Servers[serverKey(server)].Token; c.token != "" {
		return c, nil
	}
	if base, err := url.Parse(server); err != nil || !app.IsLoopback(base.Hostname()) {
		return nil, fmt.Errorf("no API key for %s: run `flowforge login --server %s --token`, or set FLOWFORGE_TOKEN", server, server)
	}
	b, err := os.ReadFile(filepath.Join(dataDir(), "admin.token"))
	if err != nil {
		return nil, fmt.Errorf("no API key: run `flowforge login --server %s --token`, set FLOWFORGE_TOKEN, or set FLOWFORGE_DATA_DIR to the server's data directory (%w)", server, err)
	}
	c.token, c.local = strings.TrimSpace(string(b)), true
	return c, nil
}

// newHTTPClient returns a client that does not turn a request with a body into a GET, which
// would succeed without doing anything.
func newHTTPClient() *http.Client {
	return &http.Client{CheckRedirect: func(req *http.Request, via []*http.Request) error {
		switch {
		case req.Method != via[0].Method:
			return fmt.Errorf("the server redirected the request to %s: set --server to the final address", req.URL)
		case len(via) >= maxRedirects:
			return fmt.Errorf("the server redirected the request %d times", maxRedirects)
		}
		return nil
	}}
}

// serverFlag returns the address of --server without a trailing slash. Without --server and
// FLOWFORGE_SERVER, it is the server of the last `flowforge login --token`.
func serverFlag(cmd *cobra.Command) (string, error) {
	server, _ := cmd.Flags().GetString("server")
	if !cmd.Flags().Changed("server") && os.Getenv("FLOWFORGE_SERVER") == "" {
		var err error
		if server, err = lastServer(server, clientSettings().Token); err != nil {
			return "", err
		}
	}
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return "", fmt.Errorf("--server %q is not an address such as http://127.0.0.1:8080", server)
	}
	return strings.TrimRight(server, "/"), nil
}

// lastServer returns the server of the last login, or otherwise. A key in FLOWFORGE_TOKEN does not say
// for which server it is, so it is never sent to that one.
func lastServer(otherwise, token string) (string, error) {
	if token != "" {
		return otherwise, nil
	}
	stored, err := loadCredentials()
	return cmp.Or(stored.Default, otherwise), err
}

func addClientFlags(cmd *cobra.Command) {
	c := clientSettings()
	cmd.Flags().String("server", c.URL, "address of the server (FLOWFORGE_SERVER)")
	cmd.Flags().String("project", c.Project, "ID, namespace, or team/project of the project (FLOWFORGE_PROJECT)")
}

// clientSettings returns the settings of the command line. They are texts, so any are valid.
func clientSettings() settings.Client {
	c, _ := settings.Part[settings.Client](os.Environ())
	return c
}

// callsServer reports whether cmd calls a server.
func callsServer(cmd *cobra.Command) bool { return cmd.Flags().Lookup("server") != nil }

// dataDir returns the data directory of the server on this machine. Other settings of that
// server do not matter, so their problems are ignored.
func dataDir() string {
	s, _ := settings.Part[settings.Server](os.Environ())
	return s.DataDir
}

// problem is the body of a failed call.
type problem struct{ web.Problem }

func (p *problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Detail)
	for _, e := range p.Errors {
		fmt.Fprintf(&b, "\n  %s: %s", e.Path, e.Message)
	}
	if p.Status >= 500 && p.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", p.RequestID)
	}
	return b.String()
}

// refused reports whether err is the server's final answer: sending the same request again
// cannot succeed. A limit of requests per minute passes.
func refused(err error) bool {
	p, answered := errors.AsType[*problem](err)
	return answered && p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests
}

// refusedWith reports whether err is the server's answer with a status.
func refusedWith(err error, status int) bool {
	p, answered := errors.AsType[*problem](err)
	return answered && p.Status == status
}

// send makes one call and returns the response, or the problem that the server reports.
func (c *client) send(ctx context.Context, method, path, mediaType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	if c.project != "" {
		req.Header.Set("X-FlowForge-Project", c.project)
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("cannot reach a server at %s: start one with `flowforge serve`, or set the address with --server", c.base)
		}
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	p := &problem{}
	if json.Unmarshal(b, p) != nil || p.Detail == "" {
		return nil, fmt.Errorf("%s %s: the server responded with status %s", method, path, res.Status)
	}
	return nil, p
}

// call sends in as JSON, unless it is nil, and decodes the response into out.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	mediaType := ""
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body, mediaType = bytes.NewReader(b), "application/json"
	}
	res, err := c.send(ctx, method, path, mediaType, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("%s %s: read the server's response: %w", method, path, err)
	}
	return nil
}

// poll calls step every interval until step is done or fails.
func poll(ctx context.Context, interval time.Duration, step func() (done bool, err error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		done, err := step()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
