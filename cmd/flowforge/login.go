package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/flowforge/flowforge/platform/unixsocket"
	"github.com/flowforge/flowforge/web/contract"
)

func newLoginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Print a one-time login link for the server on this machine, or store an API key for any server",
		Long: "Print a new one-time login link for the local administrator. Run this on the server's machine.\n" +
			"With --token, read an API key and store it for the server given by --server. To create a\n" +
			"key, open /account/keys on that server.",
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if store, _ := cmd.Flags().GetBool("token"); store {
				return storeLogin(cmd)
			}
			return printLoginLink(cmd)
		},
	}
	cmd.Flags().Bool("token", false, "read an API key from the terminal or standard input and store it")
	addClientFlags(cmd)
	return cmd
}

// printLoginLink requests a link from the server. On the server's machine it uses the socket in
// the data directory: a server with sign-in providers accepts the local administrator only there.
func printLoginLink(cmd *cobra.Command) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	socket := filepath.Join(dataDir(), "run", "api.sock")
	if conn, err := unixsocket.Dial(cmd.Context(), socket); c.local && err == nil {
		_ = conn.Close()
		c.http = unixsocket.Client(socket)
	}
	var answer contract.LoginLink
	if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/login-links", nil, &answer); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), answer.URL)
	return nil
}

// storeLogin reads an API key, verifies it with the server, and stores it.
func storeLogin(cmd *cobra.Command) error {
	server, err := serverFlag(cmd)
	if err != nil {
		return err
	}
	token, err := readToken(cmd)
	if err != nil {
		return err
	}
	c := &client{base: server, token: token, http: newHTTPClient()}
	var me contract.MeBody
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/me", nil, &me); err != nil {
		return err
	}
	path, err := storeToken(server, credential{Token: token, User: me.Name})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Signed in to %s as %s. The key is in %s. Commands use this server unless FLOWFORGE_SERVER selects another.\n", server, me.Name, path)
	return nil
}

// readToken reads one line and does not echo it on a terminal.
func readToken(cmd *cobra.Command) (string, error) {
	var b []byte
	var err error
	if file, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(cmd.ErrOrStderr(), "API key: ")
		b, err = term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
	} else {
		b, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), 64<<10))
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return "", err
		}
		return "", fmt.Errorf("read the key: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", errors.New("no API key given: type it, or pass it on standard input")
	}
	return token, nil
}
