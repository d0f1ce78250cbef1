package argo

import (
	"fmt"
	"strings"
)

// web describes a file at an address, and the secrets that its server requires.
func (t *translator) web(h *httpFile, in scope, path string) map[string]any {
	out := t.address(h.URL, in, path)
	out["headers"] = t.headers(h.Headers, in, path+".headers")
	if h.Auth == nil {
		return out
	}
	ways := 0
	path += ".auth"
	if basic := h.Auth.BasicAuth; basic != nil {
		ways++
		t.login(out, basic.UsernameSecret, basic.PasswordSecret, path+".basicAuth")
	}
	if grant := h.Auth.OAuth2; grant != nil {
		ways++
		t.clientGrant(out, grant, in, path+".oauth2")
	}
	if cert := h.Auth.ClientCert; cert != nil {
		ways++
		t.required(out, "clientCertSecret", cert.ClientCertSecret, path+".clientCert")
		t.required(out, "clientKeySecret", cert.ClientKeySecret, path+".clientCert")
	}
	t.refuse(ways != 1, path, "Set one of basicAuth, oauth2 and clientCert.")
	for i, header := range h.Headers {
		t.refuse(h.Auth.ClientCert == nil && strings.EqualFold(header.Name, "Authorization"),
			fmt.Sprintf("%s.headers[%d]", strings.TrimSuffix(path, ".auth"), i), "Omit this header: auth sets it.")
	}
	return out
}

func (t *translator) artifactory(a *artifactoryFile, in scope, path string) map[string]any {
	out := t.address(a.URL, in, path)
	if a.UsernameSecret != nil || a.PasswordSecret != nil {
		t.login(out, a.UsernameSecret, a.PasswordSecret, path)
	}
	return out
}

func (t *translator) address(url string, in scope, path string) map[string]any {
	t.refuse(url == "", path+".url", "Set the address of the file.")
	t.checkText(url, in, path+".url")
	return map[string]any{"store": "http", "url": url}
}

func (t *translator) login(out map[string]any, username, password *secretKey, path string) {
	t.required(out, "usernameSecret", username, path)
	t.required(out, "passwordSecret", password, path)
}

// clientGrant adds the parts of a grant of client credentials.
func (t *translator) clientGrant(out map[string]any, grant *oauth2, in scope, path string) {
	t.required(out, "clientIDSecret", grant.ClientIDSecret, path)
	t.required(out, "clientSecretSecret", grant.ClientSecretSecret, path)
	t.required(out, "tokenURLSecret", grant.TokenURLSecret, path)
	t.checkTexts(grant.Scopes, in, path+".scopes")
	var scopes, parameters []any
	for _, s := range grant.Scopes {
		scopes = append(scopes, s)
	}
	for i, p := range grant.EndpointParams {
		at := fmt.Sprintf("%s.endpointParams[%d]", path, i)
		t.refuse(p.Key == "", at+".key", "Set the name of the parameter.")
		t.checkText(p.Value, in, at+".value")
		parameters = append(parameters, map[string]any{"key": p.Key, "value": p.Value})
	}
	out["scopes"], out["endpointParams"] = scopes, parameters
}

// required adds the name of the secret of a credential that cannot be missing.
func (t *translator) required(out map[string]any, field string, ref *secretKey, path string) {
	t.refuse(ref == nil, path+"."+field, "Set the name and the key of the secret.")
	t.credential(out, field, ref, path)
}
