package execution

import (
	"context"
	"net/url"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/engine/workflow"
)

// credentialFields are the fields of a place that name secrets, and where their values belong.
func credentialFields(at *bucket.Location, grant *bucket.Grant) map[string]*string {
	return map[string]*string{
		"accessKeySecret": &at.AccessKey, "accountKeySecret": &at.AccessKey, "serviceAccountKeySecret": &at.AccessKey,
		"secretKeySecret": &at.SecretKey, "sessionTokenSecret": &at.SessionToken,
		"usernameSecret": &at.Web.Username, "passwordSecret": &at.Web.Password,
		"clientIDSecret": &grant.ClientID, "clientSecretSecret": &grant.ClientSecret, "tokenURLSecret": &grant.TokenURL,
		"clientCertSecret": &at.Web.Certificate, "clientKeySecret": &at.Web.Key,
	}
}

// credentialsOf returns the names of the secrets of a place.
func credentialsOf(place map[string]any) []string {
	var names []string
	for field := range credentialFields(&bucket.Location{}, &bucket.Grant{}) {
		if name, _ := place[field].(string); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// gatherCredentials adds the names of the secrets of a place.
func gatherCredentials(names map[string]bool, place map[string]any) {
	for _, name := range credentialsOf(place) {
		names[name] = true
	}
}

// gatherPlaces adds the names of the secrets of the places of an operator's inputs and outputs.
func gatherPlaces(names map[string]bool, op *workflow.Operator) {
	for _, input := range op.Inputs {
		value, _ := input.Source.Tagged.Value.(map[string]any)
		place, _ := value[workflow.RawBucket].(map[string]any)
		gatherCredentials(names, place)
	}
	for _, output := range op.Outputs {
		gatherCredentials(names, output.Bucket)
	}
}

// location returns a place with its credentials.
func (as *attemptSpecs) location(ctx context.Context, place map[string]any) (bucket.Location, error) {
	text := func(name string) string { s, _ := place[name].(string); return s }
	at := bucket.Location{
		Store: bucket.Store(text("store")), Bucket: text("bucket"), Key: text("key"), Endpoint: text("endpoint"), Region: text("region"),
		Insecure: text("insecure") != "", Web: bucket.Web{URL: text("url"), Header: textsOf(place["headers"])},
	}
	grant := bucket.Grant{OwnMachine: as.loop.driver.config.OwnMachine}
	for field, into := range credentialFields(&at, &grant) {
		if name := text(field); name != "" {
			secret, err := as.bucketSecret(ctx, name)
			if err != nil {
				return at, err
			}
			*into = secret
		}
	}
	if text("tokenURLSecret") != "" {
		at.Web.Grant = grantOf(grant, place)
	}
	return at, nil
}

// grantOf adds the scopes and the parameters of a place to a grant.
func grantOf(grant bucket.Grant, place map[string]any) *bucket.Grant {
	scopes, _ := place["scopes"].([]any)
	for _, scope := range scopes {
		grant.Scopes = append(grant.Scopes, textOf(scope))
	}
	parameters, _ := place["endpointParams"].([]any)
	grant.Parameters = url.Values{}
	for _, parameter := range parameters {
		fields, _ := parameter.(map[string]any)
		grant.Parameters.Add(textOf(fields["key"]), textOf(fields["value"]))
	}
	return &grant
}

// bucketSecret returns the value of a secret of the project.
func (as *attemptSpecs) bucketSecret(ctx context.Context, name string) (string, error) {
	missing := apperr.New(apperr.NotFound, "The project has no secret %q for the artifact; create it under Secrets", name)
	if as.loop.driver.config.Secrets == nil {
		return "", missing
	}
	value, err := as.loop.driver.config.Secrets.Reveal(auth.AsSystem(ctx), as.loop.row.ProjectID, name)
	if apperr.Is(err, apperr.NotFound) {
		return "", missing
	}
	return value, unlessRefused(err)
}
