package argo

import (
	"fmt"
	"strings"
)

// web describes a file at an address, and the secrets that its server requires.
func (f *fileSources) web(h *httpFile, in scope, path string) map[string]any {
	out := f.address(h.URL, in, path)
	out["headers"] = f.headers(h.Headers, in, path+".headers")
	if h.Auth == nil {
		return out
	}
	ways := 0
	path += ".auth"
	if basic := h.Auth.BasicAuth; basic != nil {
		ways++
		f.login(out, basic.UsernameSecret, basic.PasswordSecret, path+".basicAuth")
	}
	if grant := h.Auth.OAuth2; grant != nil {
		ways++
		f.clientGrant(out, grant, in, path+".oauth2")
	}
	if cert := h.Auth.ClientCert; cert != nil {
		ways++
		f.required(out, "clientCertSecret", cert.ClientCertSecret, path+".clientCert")
		f.required(out, "clientKeySecret", cert.ClientKeySecret, path+".clientCert")
	}
	f.refuse(ways != 1, path, "Set one of basicAuth, oauth2 and clientCert.")
	for i, header := range h.Headers {
		f.refuse(h.Auth.ClientCert == nil && strings.EqualFold(header.Name, "Authorization"),
			fmt.Sprintf("%s.headers[%d]", strings.TrimSuffix(path, ".auth"), i), "Omit this header: auth sets it.")
	}
	return out
}

func (f *fileSources) artifactory(a *artifactoryFile, in scope, path string) map[string]any {
	out := f.address(a.URL, in, path)
	if a.UsernameSecret != nil || a.PasswordSecret != nil {
		f.login(out, a.UsernameSecret, a.PasswordSecret, path)
	}
	return out
}

func (f *fileSources) address(url string, in scope, path string) map[string]any {
	f.refuse(url == "", path+".url", "Set the address of the file.")
	f.checks.checkText(url, in, path+".url")
	return map[string]any{"store": "http", "url": url}
}

func (f *fileSources) login(out map[string]any, username, password *secretKey, path string) {
	f.required(out, "usernameSecret", username, path)
	f.required(out, "passwordSecret", password, path)
}

// clientGrant adds the parts of a grant of client credentials.
func (f *fileSources) clientGrant(out map[string]any, grant *oauth2, in scope, path string) {
	f.required(out, "clientIDSecret", grant.ClientIDSecret, path)
	f.required(out, "clientSecretSecret", grant.ClientSecretSecret, path)
	f.required(out, "tokenURLSecret", grant.TokenURLSecret, path)
	f.checks.checkTexts(grant.Scopes, in, path+".scopes")
	var scopes, parameters []any
	for _, s := range grant.Scopes {
		scopes = append(scopes, s)
	}
	for i, p := range grant.EndpointParams {
		at := fmt.Sprintf("%s.endpointParams[%d]", path, i)
		f.refuse(p.Key == "", at+".key", "Set the name of the parameter.")
		f.checks.checkText(p.Value, in, at+".value")
		parameters = append(parameters, map[string]any{"key": p.Key, "value": p.Value})
	}
	out["scopes"], out["endpointParams"] = scopes, parameters
}

// required adds the name of the secret of a credential that cannot be missing.
func (f *fileSources) required(out map[string]any, field string, ref *secretKey, path string) {
	f.refuse(ref == nil, path+"."+field, "Set the name and the key of the secret.")
	f.credential(out, field, ref, path)
}
