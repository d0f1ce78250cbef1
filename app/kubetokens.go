package app

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher/kube"
)

const (
	// reviewedFor is how long a reviewed token is not reviewed again. A deleted account or pod
	// loses access after this time.
	reviewedFor = 10 * time.Second
	maxReviewed = 10_000
)

// kubeTokens accepts tokens of Kubernetes service accounts. Each account acts as a service
// account of its project, which FlowForge creates when it is first used. Only tokens that
// claim to belong to a listed account reach the cluster.
type kubeTokens struct {
	reviewer *kube.Reviewer
	accounts []kube.TokenAccount
	users    *auth.Users
	tenancy  *tenancy.Service
	now      func() time.Time

	mu       sync.Mutex
	reviewed map[[sha256.Size]byte]reviewedToken
}

// reviewedToken is the answer of the cluster about a token: its account, or why the token is
// not valid.
type reviewedToken struct {
	account kube.TokenAccount
	invalid error
	until   time.Time
}

// newKubeTokens returns the verifier of tokens of the cluster.
func newKubeTokens(config kube.Config, p *parts) (*kubeTokens, error) {
	if config.TokenAudience == "" || len(config.TokenAccounts) == 0 {
		return nil, errors.New("set both FLOWFORGE_KUBE_TOKEN_AUDIENCE and FLOWFORGE_KUBE_TOKEN_ACCOUNTS, or neither")
	}
	if err := checkTokenAccounts(config.TokenAccounts); err != nil {
		return nil, err
	}
	reviewer, err := kube.NewReviewer(config)
	if err != nil {
		return nil, fmt.Errorf("tokens of Kubernetes: %w", err)
	}
	return &kubeTokens{
		reviewer: reviewer, accounts: config.TokenAccounts, users: p.users,
		tenancy: tenancy.NewService(p.pool, p.policies, time.Now), now: time.Now,
	}, nil
}

// checkTokenAccounts rejects accounts that could never sign in.
func checkTokenAccounts(accounts []kube.TokenAccount) error {
	for _, account := range accounts {
		if !slices.ContainsFunc(auth.Grants(), func(g auth.Grant) bool { return g.Role == account.Role }) {
			return fmt.Errorf("FLOWFORGE_KUBE_TOKEN_ACCOUNTS: %s/%s: %q is not a role", account.Namespace, account.Name, account.Role)
		}
		if n := len(accountName(account)); n > tenancy.MaxName {
			return fmt.Errorf("FLOWFORGE_KUBE_TOKEN_ACCOUNTS: %s/%s: the name has %d characters; use an account whose namespace and name have at most %d characters with the separator",
				account.Namespace, account.Name, n, tenancy.MaxName)
		}
	}
	return nil
}

// Verify implements auth.TokenVerifier.
func (k *kubeTokens) Verify(ctx context.Context, token string) (auth.Subject, error) {
	name, ok := serviceAccountOf(token)
	if !ok {
		return auth.Subject{}, auth.ErrOtherToken
	}
	if _, err := k.listed(name); err != nil {
		return auth.Subject{}, err
	}
	account, err := k.review(ctx, token)
	if err != nil {
		return auth.Subject{}, err
	}
	return k.subject(auth.AsSystem(ctx), account)
}

// serviceAccountOf returns the service account "namespace:account" in the unverified subject
// of a JWT.
func serviceAccountOf(token string) (name string, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Subject string `json:"sub"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return "", false
	}
	return strings.CutPrefix(claims.Subject, kube.AccountPrefix)
}

// listed returns the account of the setting with the name "namespace:account".
func (k *kubeTokens) listed(name string) (kube.TokenAccount, error) {
	i := slices.IndexFunc(k.accounts, func(a kube.TokenAccount) bool { return accountName(a) == name })
	if i < 0 {
		return kube.TokenAccount{}, apperr.New(apperr.Unauthenticated,
			"The Kubernetes service account %s has no role in FlowForge. Add it to FLOWFORGE_KUBE_TOKEN_ACCOUNTS.", strings.Replace(name, ":", "/", 1))
	}
	return k.accounts[i], nil
}

// accountName is the name of an account in subjects of tokens and in FlowForge.
func accountName(a kube.TokenAccount) string { return a.Namespace + ":" + a.Name }

// review returns the account of a token from an answer of the cluster that is at most
// reviewedFor old.
func (k *kubeTokens) review(ctx context.Context, token string) (kube.TokenAccount, error) {
	key, now := sha256.Sum256([]byte(token)), k.now()
	k.mu.Lock()
	known, ok := k.reviewed[key]
	k.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.account, known.invalid
	}
	account, err := k.requestReview(ctx, token)
	if err != nil && !apperr.Is(err, apperr.Unauthenticated) {
		return kube.TokenAccount{}, err // the cluster did not respond, so the next request asks again
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.reviewed) >= maxReviewed || k.reviewed == nil {
		k.reviewed = map[[sha256.Size]byte]reviewedToken{}
	}
	k.reviewed[key] = reviewedToken{account, err, now.Add(reviewedFor)}
	return account, err
}

// requestReview returns the account of a token from the cluster.
func (k *kubeTokens) requestReview(ctx context.Context, token string) (kube.TokenAccount, error) {
	namespace, name, err := k.reviewer.Review(ctx, token)
	if err != nil {
		return kube.TokenAccount{}, err //nolint:wrapcheck // describes what to do
	}
	return k.listed(namespace + ":" + name)
}

// subject returns the service account of FlowForge that acts for an account of Kubernetes.
func (k *kubeTokens) subject(ctx context.Context, a kube.TokenAccount) (auth.Subject, error) {
	in, err := k.users.InProject(auth.System(), a.Project)
	if err != nil {
		return auth.Subject{}, apperr.Wrap(apperr.Forbidden, err, "The project "+a.Project+" in FLOWFORGE_KUBE_TOKEN_ACCOUNTS does not exist.")
	}
	name := accountName(a)
	accounts, err := k.tenancy.ServiceAccounts(ctx, in.ProjectID)
	if err != nil {
		return auth.Subject{}, err //nolint:wrapcheck // says enough
	}
	i := slices.IndexFunc(accounts, func(s tenancy.ServiceAccount) bool { return s.Name == name })
	var own tenancy.ServiceAccount
	switch {
	case i < 0:
		if own, err = k.tenancy.CreateServiceAccount(ctx, in.ProjectID, name, a.Role, "kubernetes "+name); err != nil {
			return auth.Subject{}, err //nolint:wrapcheck // names the field
		}
	case accounts[i].DisabledAt != nil:
		return auth.Subject{}, apperr.New(apperr.Unauthenticated, "The service account %s is disabled.", name)
	default:
		own = accounts[i]
	}
	if own.Role != a.Role {
		if err := k.setRole(ctx, in.ProjectID, own.ID, a.Role); err != nil {
			return auth.Subject{}, err
		}
	}
	return k.users.Service(own.ID, name, in.ProjectID, "kubernetes:"+a.Namespace+"/"+a.Name)
}

// setRole gives an account the role of the setting, which wins over a change by hand.
func (k *kubeTokens) setRole(ctx context.Context, project, user uuid.UUID, role string) error {
	members, err := k.tenancy.Members(ctx, project)
	if err != nil {
		return err //nolint:wrapcheck // says enough
	}
	for _, m := range members {
		if m.UserID == user && !m.Inherited && m.Provider == "" {
			_, err := k.tenancy.ChangeMember(ctx, project, m.ID, role)
			return err //nolint:wrapcheck // says enough
		}
	}
	return apperr.New(apperr.Forbidden, "The service account no longer has a role in its project. Add it as a member.")
}
