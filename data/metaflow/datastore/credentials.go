package datastore

import (
	"context"
	"net/url"
	"regexp"
	"slices"

	"github.com/flowforge/flowforge/access/auth"
)

// A store receives the access key ID and the session token as they are, and no one may read
// secrets. So users who set datastores do not choose which hosts receive them: Amazon S3 does, and
// the hosts that the installation lists.

// amazon are the hosts of Amazon S3. Customers of Amazon own other hosts below amazonaws.com.
var amazon = regexp.MustCompile(`^s3([.-](dualstack|fips|accelerate))*([.-][a-z]{2}(-[a-z]+)+-[0-9]+)?\.amazonaws\.com(\.cn)?$`)

// credentialsProblem explains why the server does not send the credentials of a datastore to its
// endpoint; "" if it does.
func (s *Service) credentialsProblem(p Place) string {
	if len(p.secrets()) == 0 || p.Endpoint == "" || s.OwnHosts {
		return ""
	}
	to, err := url.Parse(p.Endpoint)
	if err == nil && (s.listed(dialled(to)) || to.Scheme == "https" && to.Port() == "" && amazon.MatchString(to.Hostname())) {
		return ""
	}
	return "The server sends credentials only to Amazon S3 and to the hosts in FLOWFORGE_METAFLOW_ENDPOINTS. Ask an installation administrator to add this host."
}

// secrets are the names of the secrets of a datastore.
func (p Place) secrets() []string {
	var names []string
	for _, name := range []string{p.AccessKeySecret, p.SecretKeySecret, p.SessionTokenSecret} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// noteUse records the use of the secrets of a datastore.
func (s *Service) noteUse(ctx context.Context, subject auth.Subject, p Place) error {
	names := p.secrets()
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return s.Secrets.NoteDatastoreUse(auth.AsSystem(ctx), subject.ProjectID, slices.Compact(names))
}
