package argo

// httpAuth is how the server of an http artifact authenticates requests: one of its fields.
type httpAuth struct {
	BasicAuth  *basicAuth  `json:"basicAuth"`
	OAuth2     *oauth2     `json:"oauth2"`
	ClientCert *clientCert `json:"clientCert"`
}

type basicAuth struct {
	UsernameSecret *secretKey `json:"usernameSecret"`
	PasswordSecret *secretKey `json:"passwordSecret"`
}

// oauth2 is the grant of client credentials.
type oauth2 struct {
	ClientIDSecret     *secretKey          `json:"clientIDSecret"`
	ClientSecretSecret *secretKey          `json:"clientSecretSecret"`
	TokenURLSecret     *secretKey          `json:"tokenURLSecret"`
	Scopes             []string            `json:"scopes"`
	EndpointParams     []endpointParameter `json:"endpointParams"`
}

type endpointParameter struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type clientCert struct {
	ClientCertSecret *secretKey `json:"clientCertSecret"`
	ClientKeySecret  *secretKey `json:"clientKeySecret"`
}

// artifactoryFile is a file of a repository of Artifactory.
type artifactoryFile struct {
	URL            string     `json:"url"`
	UsernameSecret *secretKey `json:"usernameSecret"`
	PasswordSecret *secretKey `json:"passwordSecret"`
}
