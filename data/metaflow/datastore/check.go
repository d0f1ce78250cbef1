package datastore

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// Maximum lengths in characters.
const (
	maxBucket = 63
	maxPrefix = 500
)

var (
	bucketPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]+$`)
	prefixPattern = regexp.MustCompile(`^[A-Za-z0-9!_.*'()/ =+@:-]*$`)
	regionPattern = regexp.MustCompile(`^[a-z0-9-]{0,40}$`)
)

// splitRoot returns the bucket and the prefix of s3://bucket/prefix.
func splitRoot(root string) (bucket, prefix string) {
	bucket, prefix, _ = strings.Cut(strings.TrimPrefix(root, "s3://"), "/")
	return bucket, strings.Trim(prefix, "/")
}

// check returns p in its stored form: a local Root is empty for the folder of the project.
func (s *Service) check(ctx context.Context, subject auth.Subject, p Place) (Place, error) {
	p.Root, p.Endpoint, p.Region = strings.TrimSpace(p.Root), strings.TrimSuffix(strings.TrimSpace(p.Endpoint), "/"), strings.TrimSpace(p.Region)
	switch p.Kind {
	case Local:
		return s.checkLocal(subject, p)
	case S3:
		return s.checkS3(ctx, p)
	}
	return p, invalid([]apperr.Field{{Path: "kind", Message: "Enter local or s3."}})
}

func invalid(fields []apperr.Field) error {
	return apperr.InvalidFields("The datastore has invalid values.", fields)
}

func (s *Service) checkLocal(subject auth.Subject, p Place) (Place, error) {
	if p.Root != "" && filepath.Clean(p.Root) == s.own(subject) {
		p.Root = ""
	}
	clean := Place{Kind: Local, Root: p.Root}
	var fields []apperr.Field
	for _, f := range []struct{ path, value string }{
		{"endpoint", p.Endpoint}, {"region", p.Region},
		{"access_key_secret", p.AccessKeySecret}, {"secret_key_secret", p.SecretKeySecret}, {"session_token_secret", p.SessionTokenSecret},
	} {
		if f.value != "" {
			fields = append(fields, apperr.Field{Path: f.path, Message: "Only for s3. Leave it empty for a local folder."})
		}
	}
	if len(fields) > 0 {
		return clean, invalid(fields)
	}
	if p.Root == "" {
		return clean, nil
	}
	if !subject.May(auth.Administer, auth.Installation) {
		return clean, &apperr.Error{
			Code: apperr.Forbidden, Message: "Only installation administrators can choose a folder on the server.",
			Fields: []apperr.Field{{Path: "root", Message: "Leave it empty for the project's own folder."}},
		}
	}
	if _, _, ok := s.allowed(p.Root); !ok {
		message := "FLOWFORGE_METAFLOW_ROOTS allows no other folders. Leave it empty for the project's own folder."
		if len(s.Roots) > 0 {
			message = fmt.Sprintf("Enter the absolute path of a folder in %s (FLOWFORGE_METAFLOW_ROOTS).", strings.Join(s.Roots, " or "))
		}
		return clean, invalid([]apperr.Field{{Path: "root", Message: message}})
	}
	clean.Root = filepath.Clean(p.Root)
	return clean, nil
}

// allowed returns the allowed folder that contains the absolute path root, and the path below it.
func (s *Service) allowed(root string) (folder, below string, ok bool) {
	if !filepath.IsAbs(root) {
		return "", "", false
	}
	for _, folder := range s.Roots {
		below, err := filepath.Rel(folder, root)
		if err == nil && filepath.IsLocal(below) {
			return folder, below, true
		}
	}
	return "", "", false
}

func (s *Service) checkS3(ctx context.Context, p Place) (Place, error) {
	if len(p.secrets()) > 0 {
		if _, err := auth.Authorize(ctx, auth.SecretWrite); err != nil {
			return p, err
		}
	}
	clean := Place{
		Kind: S3, Root: p.Root, Endpoint: p.Endpoint, Region: p.Region,
		AccessKeySecret: p.AccessKeySecret, SecretKeySecret: p.SecretKeySecret, SessionTokenSecret: p.SessionTokenSecret,
	}
	var fields []apperr.Field
	add := func(path, message string) { fields = append(fields, apperr.Field{Path: path, Message: message}) }
	bucket, prefix := splitRoot(p.Root)
	if !strings.HasPrefix(p.Root, "s3://") || len(bucket) > maxBucket || len(prefix) > maxPrefix || !bucketPattern.MatchString(bucket) || !prefixPattern.MatchString(prefix) || !cleanPrefix(prefix) {
		add("root", "Enter s3://bucket/prefix.")
	}
	clean.Root = strings.TrimSuffix("s3://"+bucket+"/"+prefix, "/")
	if message := s.endpointProblem(p.Endpoint); message != "" {
		add("endpoint", message)
	} else if message := s.credentialsProblem(p); message != "" {
		add("endpoint", message)
	}
	if !regionPattern.MatchString(p.Region) {
		add("region", "Use lower-case letters, digits and “-”, such as eu-central-1.")
	}
	if p.AccessKeySecret == "" && (p.SecretKeySecret != "" || p.SessionTokenSecret != "") {
		add("access_key_secret", "Enter the secret with the access key ID, or leave all three empty for a public bucket.")
	}
	if p.AccessKeySecret != "" && p.SecretKeySecret == "" {
		add("secret_key_secret", "Enter the secret with the secret access key.")
	}
	for _, f := range []struct{ path, name string }{
		{"access_key_secret", p.AccessKeySecret}, {"secret_key_secret", p.SecretKeySecret}, {"session_token_secret", p.SessionTokenSecret},
	} {
		if f.name == "" {
			continue
		}
		exists, err := s.Secrets.Exists(ctx, f.name)
		if err != nil {
			return p, fmt.Errorf("find secret %s: %w", f.name, err)
		}
		if !exists {
			add(f.path, fmt.Sprintf("The project has no secret called %q. Add it first.", f.name))
		}
	}
	return clean, invalid(fields)
}

// cleanPrefix reports whether the segments of a prefix are names.
func cleanPrefix(prefix string) bool {
	for segment := range strings.SplitSeq(prefix, "/") {
		if segment == "." || segment == ".." || segment == "" && prefix != "" {
			return false
		}
	}
	return true
}

// endpointProblem describes what is wrong with an endpoint; "" if nothing is.
func (s *Service) endpointProblem(endpoint string) string {
	if endpoint == "" {
		return ""
	}
	const form = "Enter the address of the store, such as https://minio.example.com:9000."
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(endpoint) > 500 {
		return form
	}
	ip, err := netip.ParseAddr(u.Hostname())
	kept := err == nil && s.keepsFrom(ip) || strings.EqualFold(u.Hostname(), "localhost") && !s.OwnHosts
	if kept && !s.listed(dialled(u)) {
		return refusedAddress
	}
	return ""
}
