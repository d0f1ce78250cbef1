// Package azuretest gives tests a real server with the API of Azure Blob Storage: Azurite,
// in a separate process that keeps blobs in memory.
package azuretest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/flowforge/flowforge/platform/freeport"
	"github.com/flowforge/flowforge/platform/testserver"
)

// The account of the server.
const (
	Account = "flowforge"
	Key     = "Zmxvd2ZvcmdlLXRlc3Qta2V5"
)

// Start starts a server that has the containers, stops it at the end of the test, and returns
// the endpoint of its account. A test run without the program fails.
func Start(t testing.TB, containers ...string) string {
	t.Helper()
	address := freeport.Address(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), "node", program(t), "--inMemoryPersistence", "--silent", "--blobHost", host, "--blobPort", port)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Environ(), "AZURITE_ACCOUNTS="+Account+":"+Key)
	t.Cleanup(testserver.Start(t, "Azurite", address, cmd).Stop)
	endpoint := "http://" + address + "/" + Account
	for _, c := range containers {
		create(t, endpoint+"/"+c)
	}
	return endpoint
}

// create creates a container, with a shared access signature of the account.
func create(t testing.TB, container string) {
	t.Helper()
	const version = "2021-12-02"
	expires := time.Now().UTC().Add(time.Hour).Format(time.RFC3339)
	secret, err := base64.StdEncoding.DecodeString(Key)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(strings.Join([]string{Account, "c", "b", "c", "", expires, "", "", version, "", ""}, "\n")))
	query := url.Values{
		"restype": {"container"}, "sv": {version}, "ss": {"b"}, "srt": {"c"}, "sp": {"c"}, "se": {expires},
		"sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, container+"?"+query.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("create %s: %s", container, res.Status)
	}
}

func program(t testing.TB) string {
	t.Helper()
	path := testserver.Installed(t, "azurite", "node_modules", "azurite", "dist", "src", "blob", "main.js")
	if path == "" {
		t.Fatal("there is no Azurite for tests: run `scripts/setup s3`")
	}
	return path
}
