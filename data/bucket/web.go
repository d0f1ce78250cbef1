package bucket

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/flowforge/flowforge/apperr"
)

// tokenLimit is how long an OAuth server may take to issue a token.
const tokenLimit = 20 * time.Second

// Web is a file at an address. It has credentials of at most one kind.
type Web struct {
	URL    string
	Header map[string]string

	Username, Password string // of basic authentication; the task receives them
	Grant              *Grant
	Certificate, Key   string // PEM of a client certificate; the task receives both
}

// Grant requests tokens with client credentials of OAuth 2.0. A task receives a token, and not
// the credentials.
type Grant struct {
	ClientID, ClientSecret, TokenURL string

	Scopes     []string
	Parameters url.Values
	OwnMachine bool // the token URL may be at this machine
}

// Check reports what is wrong with the location and its credentials. It sends no request.
func (l Location) Check(ctx context.Context) error {
	if l.Store != HTTP {
		_, err := l.Get(ctx, "")
		return err
	}
	if _, err := webAddress("address", l.Web.URL); err != nil {
		return err
	}
	if l.Web.Grant != nil {
		if _, err := webAddress("token URL", l.Web.Grant.TokenURL); err != nil {
			return err
		}
	}
	if l.Web.Certificate == "" {
		return nil
	}
	if _, err := tls.X509KeyPair([]byte(l.Web.Certificate), []byte(l.Web.Key)); err != nil {
		return apperr.New(apperr.Invalid, "The client certificate for %s cannot be used: it and its key must be a pair of PEM texts.", l)
	}
	return nil
}

// webAddress reads an http address. Its error has no part of the text, which can be a secret.
func webAddress(what, text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, apperr.New(apperr.Invalid, "The %s of the file is not an http or https address.", what)
	}
	return parsed, nil
}

// web returns the request for the file at an address.
func (l Location) web(ctx context.Context, method string) (Request, error) {
	if err := l.Check(ctx); err != nil {
		return Request{}, err
	}
	w := l.Web
	r := Request{Method: method, URL: w.URL, Header: map[string]string{}, Certificate: w.Certificate, Key: w.Key}
	maps.Copy(r.Header, w.Header)
	switch {
	case w.Grant != nil:
		token, err := w.Grant.token(ctx)
		if err != nil {
			return Request{}, err
		}
		r.Header["Authorization"] = token.Type() + " " + token.AccessToken
	case w.Username != "" || w.Password != "":
		r.Header["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(w.Username+":"+w.Password))
	}
	return r, nil
}

// token requests a token. Its errors have no text of the response but the error code of OAuth,
// because the token URL comes from a user.
func (g *Grant) token(ctx context.Context) (*oauth2.Token, error) {
	client := &http.Client{
		Timeout: tokenLimit,
		Transport: &http.Transport{
			Proxy:             http.ProxyFromEnvironment,
			DialContext:       (&net.Dialer{Timeout: tokenLimit, Control: g.refuse}).DialContext,
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	config := clientcredentials.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret, TokenURL: g.TokenURL, Scopes: g.Scopes, EndpointParams: g.Parameters,
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err == nil {
		return token, nil
	}
	address, _ := webAddress("token URL", g.TokenURL)
	reason := "it cannot be reached"
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		reason = fmt.Sprintf("it responded with %d %s", refused.Response.StatusCode, http.StatusText(refused.Response.StatusCode))
		if refused.ErrorCode != "" {
			reason += ", " + refused.ErrorCode
		}
	}
	return nil, apperr.New(apperr.Invalid, "The OAuth server %s issued no token: %s.", address.Host, reason)
}

// errOwnAddress is the error of a token URL at an address of this machine, or at one where clouds
// serve the credentials of their machines.
var errOwnAddress = errors.New("the address belongs to this machine or its network link")

func (g *Grant) refuse(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.IsUnspecified() || IsLink(ip) || !g.OwnMachine && IsMachine(ip) {
		return errOwnAddress
	}
	return nil
}

// webText is an address for messages, without its user and its query, which can have secrets.
func webText(text string) string {
	parsed, err := webAddress("address", text)
	if err != nil {
		return "the address"
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String()
}
