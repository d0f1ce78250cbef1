package kube_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/kubetest"
)

// TestReviewsTokens asks a real API server about tokens of a service account.
func TestReviewsTokens(t *testing.T) {
	t.Parallel()
	cluster := kubetest.New(t)
	ctx, namespace := t.Context(), cluster.Prefix+"ci"
	_, err := cluster.API.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	accounts := cluster.API.CoreV1().ServiceAccounts(namespace)
	_, err = accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "deployer"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	token := func(audience string) string {
		made, err := accounts.CreateToken(ctx, "deployer", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}, metav1.CreateOptions{})
		require.NoError(t, err)
		return made.Status.Token
	}
	reviewer, err := kube.NewReviewer(kube.Config{Kubeconfig: cluster.Kubeconfig, TokenAudience: "flowforge"})
	require.NoError(t, err)
	good := token("flowforge")
	in, name, err := reviewer.Review(ctx, good)
	require.NoError(t, err)
	require.Equal(t, []string{namespace, "deployer"}, []string{in, name})
	for _, wrong := range []string{token("another-service"), good[:len(good)-8] + "AAAAAAAA", "a.b.c"} {
		_, _, err = reviewer.Review(ctx, wrong)
		require.True(t, apperr.Is(err, apperr.Unauthenticated), "%v", err)
		require.ErrorContains(t, err, `"flowforge"`)
	}
	require.NoError(t, accounts.Delete(ctx, "deployer", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { // the API server caches accepted tokens for about ten seconds
		_, _, err = reviewer.Review(ctx, good)
		return apperr.Is(err, apperr.Unauthenticated)
	}, 2*time.Minute, 200*time.Millisecond, "the account is deleted")
}

func TestParseTokenAccounts(t *testing.T) {
	t.Parallel()
	accounts, err := kube.ParseTokenAccounts("ci/deployer=vision/digits:ProjectDev, ops/back-up.1=ff-digits:Viewer")
	require.NoError(t, err)
	require.Equal(t, []kube.TokenAccount{{"ci", "deployer", "vision/digits", "ProjectDev"}, {"ops", "back-up.1", "ff-digits", "Viewer"}}, accounts)
	for text, want := range map[string]string{
		"ci/deployer": "NAMESPACE/ACCOUNT=PROJECT:ROLE", "deployer=p:Viewer": "NAMESPACE/ACCOUNT", "ci/a=p:Viewer,": "NAMESPACE/ACCOUNT",
		"ci/a=p:Viewer,ci/a=q:Viewer": "listed twice",
	} {
		_, err := kube.ParseTokenAccounts(text)
		require.ErrorContains(t, err, want, text)
	}
}
