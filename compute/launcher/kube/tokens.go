package kube

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/apperr"
)

// AccountPrefix begins the user name of a service account of Kubernetes.
const AccountPrefix = "system:serviceaccount:"

// TokenAccount is a service account of Kubernetes that may call the API, and its role.
type TokenAccount struct {
	Namespace, Name string
	Project         string // an ID, a namespace or a path such as team/project
	Role            string
}

var tokenAccount = regexp.MustCompile(`^([a-z0-9-]{1,63})/([a-z0-9.-]{1,253})=([^=:]+):([A-Za-z][A-Za-z0-9-]*)$`)

// ParseTokenAccounts reads a list such as "ci/deployer=vision/digits:ProjectDev".
func ParseTokenAccounts(text string) ([]TokenAccount, error) {
	var accounts []TokenAccount
	for entry := range strings.SplitSeq(text, ",") {
		m := tokenAccount.FindStringSubmatch(strings.TrimSpace(entry))
		if m == nil {
			return nil, fmt.Errorf("write NAMESPACE/ACCOUNT=PROJECT:ROLE, such as ci/deployer=vision/digits:ProjectDev; %q does not have this form", entry)
		}
		a := TokenAccount{m[1], m[2], strings.TrimSpace(m[3]), m[4]}
		if slices.ContainsFunc(accounts, func(b TokenAccount) bool { return a.Namespace == b.Namespace && a.Name == b.Name }) {
			return nil, fmt.Errorf("%s/%s is listed twice; an account has one project", a.Namespace, a.Name)
		}
		accounts = append(accounts, a)
	}
	return accounts, nil
}

// Reviewer asks the API server whose tokens are valid for an audience.
type Reviewer struct {
	api      API
	audience string
}

// NewReviewer returns a reviewer of the cluster and the audience in config.
func NewReviewer(config Config) (*Reviewer, error) {
	rc, err := RESTConfig(config)
	if err != nil {
		return nil, err
	}
	api, err := NewAPI(rc)
	if err != nil {
		return nil, err
	}
	return NewReviewerFor(api, config.TokenAudience), nil
}

// NewReviewerFor returns a reviewer that uses api.
func NewReviewerFor(api API, audience string) *Reviewer {
	return &Reviewer{api: api, audience: audience}
}

// Review returns the service account of token. Errors: apperr.Unauthenticated for a token that
// is not valid for the audience, apperr.Unavailable when the API server cannot be asked.
func (r *Reviewer) Review(ctx context.Context, token string) (namespace, name string, err error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{r.audience}}}
	review, err = r.api.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return "", "", apperr.Wrap(apperr.Unavailable, err, "The server is not allowed to review Kubernetes tokens. Grant its service account the verb create on tokenreviews in authentication.k8s.io.")
	}
	if err != nil {
		return "", "", apperr.Wrap(apperr.Unavailable, err, "The cluster did not review the token.")
	}
	// A server that ignores audiences returns none, and its answer is about its own audience.
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, r.audience) {
		return "", "", apperr.Wrap(apperr.Unauthenticated, errors.New(review.Status.Error),
			fmt.Sprintf("The Kubernetes token is not valid for the audience %q. Create it with `kubectl create token ACCOUNT --audience %s`, or use a projected token with this audience.", r.audience, r.audience))
	}
	account, ok := strings.CutPrefix(review.Status.User.Username, AccountPrefix)
	namespace, name, _ = strings.Cut(account, ":")
	if !ok || namespace == "" || name == "" {
		return "", "", apperr.New(apperr.Unauthenticated, "The Kubernetes token belongs to %q, which is not a service account.", review.Status.User.Username)
	}
	return namespace, name, nil
}
