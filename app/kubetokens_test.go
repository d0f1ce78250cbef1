package app

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/db/dbtest"
)

// jwtOf returns an unsigned token; the signature tells the tokens of one account apart.
func jwtOf(subject, signature string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub": "`+subject+`"}`)) + "." + signature
}

// TestKubernetesTokens: a service account of Kubernetes acts as a service account of its
// project with the role of the setting, until its token or its account is revoked.
func TestKubernetesTokens(t *testing.T) {
	t.Parallel()
	pool, now, reviews := dbtest.New(t), time.Now(), 0
	policies, err := auth.NewPolicies(t.Context(), pool)
	require.NoError(t, err)
	api := fake.NewClientset()
	api.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		reviews++
		review := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		for _, name := range []string{"ci:deployer", "ci:other"} {
			if review.Spec.Token == jwtOf("system:serviceaccount:"+name, "good") {
				review.Status = authenticationv1.TokenReviewStatus{
					Authenticated: true, Audiences: review.Spec.Audiences, User: authenticationv1.UserInfo{Username: "system:serviceaccount:" + name},
				}
			}
		}
		return true, review, nil
	})
	service := tenancy.NewService(pool, policies, time.Now)
	tokens := &kubeTokens{
		reviewer: kube.NewReviewerFor(api, "flowforge"), users: auth.NewUsers(pool, policies), tenancy: service, now: func() time.Time { return now },
		accounts: []kube.TokenAccount{{Namespace: "ci", Name: "deployer", Project: auth.LocalProject.String(), Role: auth.ProjectDev}},
	}
	good := jwtOf("system:serviceaccount:ci:deployer", "good")
	verify := func(token string) (auth.Subject, error) { return tokens.Verify(context.Background(), token) }

	s, err := verify(good)
	require.NoError(t, err)
	require.Equal(t, "ci:deployer", s.Name)
	require.Equal(t, "kubernetes:ci/deployer", s.Credential)
	require.Equal(t, auth.LocalProject, s.ProjectID)
	require.True(t, s.May(auth.ExecutionLaunch, auth.LocalProject))
	require.False(t, s.May(auth.MemberWrite, auth.LocalProject))
	again, err := verify(good)
	require.NoError(t, err)
	require.Equal(t, s.ID, again.ID, "the same user in the audit log")
	require.Equal(t, 1, reviews, "the answer is used for ten seconds")

	for _, token := range []string{"ff_1234", jwtOf("alice", "good"), "a.b"} {
		_, err = verify(token)
		require.ErrorIs(t, err, auth.ErrOtherToken)
	}
	for range 2 {
		_, err = verify(jwtOf("system:serviceaccount:ci:deployer", "forged"))
		require.True(t, apperr.Is(err, apperr.Unauthenticated), "%v", err)
	}
	require.Equal(t, 2, reviews, "the refusal is used for ten seconds")
	_, err = verify(jwtOf("system:serviceaccount:ci:other", "good"))
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "%v", err)
	require.ErrorContains(t, err, "ci/other has no role")
	require.Equal(t, 2, reviews, "the cluster is not asked about accounts that are not listed")

	tokens.accounts[0].Role = auth.Viewer
	now = now.Add(reviewedFor)
	s, err = verify(good)
	require.NoError(t, err)
	require.False(t, s.May(auth.ExecutionLaunch, auth.LocalProject), "the role of the setting")
	require.Equal(t, again.ID, s.ID)

	_, err = service.SetServiceAccountDisabled(auth.WithSubject(t.Context(), auth.Local()), auth.LocalProject, s.ID, true)
	require.NoError(t, err)
	_, err = verify(good)
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "%v", err)
}

// TestTokenAccountsThatCannotSignIn: the server rejects them at its start.
func TestTokenAccountsThatCannotSignIn(t *testing.T) {
	t.Parallel()
	account := kube.TokenAccount{Namespace: "ci", Name: strings.Repeat("a", tenancy.MaxName-len("ci:")), Project: "vision", Role: auth.ProjectDev}
	require.NoError(t, checkTokenAccounts([]kube.TokenAccount{account}))
	account.Name += "a"
	require.ErrorContains(t, checkTokenAccounts([]kube.TokenAccount{account}), "FLOWFORGE_KUBE_TOKEN_ACCOUNTS: ci/"+account.Name+": the name has 101 characters")
	account.Name, account.Role = "deployer", "Cook"
	require.ErrorContains(t, checkTokenAccounts([]kube.TokenAccount{account}), `FLOWFORGE_KUBE_TOKEN_ACCOUNTS: ci/deployer: "Cook" is not a role`)
}
