package secretstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/flowforge/flowforge/access/secret"
)

// awsManager reads AWS Secrets Manager with its one operation GetSecretValue.
// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
type awsManager struct {
	opened
	client *http.Client
	now    func() time.Time
	signer *v4.Signer

	mu          sync.Mutex
	credentials *aws.CredentialsCache
}

func newAWS(o opened, client *http.Client, now func() time.Time) *awsManager {
	return &awsManager{opened: o, client: client, now: now, signer: v4.NewSigner()}
}

func (a *awsManager) check(ctx context.Context) (string, error) {
	cache, err := a.cache(ctx)
	if err != nil {
		return "", err
	}
	if _, err := cache.Retrieve(ctx); err != nil {
		return "", noIdentity(err)
	}
	return "The store has credentials. Enter a path to test whether they are accepted.", nil
}

func noIdentity(err error) error {
	return &failure{reason: unreachable, text: "the server has no AWS credentials", err: err}
}

// cache returns the credentials, which it loads once.
func (a *awsManager) cache(ctx context.Context) (*aws.CredentialsCache, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.credentials != nil {
		return a.credentials, nil
	}
	var provider aws.CredentialsProvider
	if a.text("authentication") == ByKeys {
		provider = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: a.text("access_key_id"), SecretAccessKey: a.secrets["secret_access_key"], SessionToken: a.secrets["session_token"]}, nil
		})
	} else {
		loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(a.text("region")))
		if err != nil {
			return nil, noIdentity(err)
		}
		provider = loaded.Credentials
	}
	a.credentials = aws.NewCredentialsCache(provider)
	return a.credentials, nil
}

func (a *awsManager) read(ctx context.Context, ref secret.Reference) (string, error) {
	cache, err := a.cache(ctx)
	if err != nil {
		return "", err
	}
	value, err := a.get(ctx, cache, ref)
	if is(err, denied) {
		cache.Invalidate() // temporary credentials may have expired
		value, err = a.get(ctx, cache, ref)
	}
	return value, err
}

func (a *awsManager) endpoint() string {
	if endpoint := a.text("endpoint"); endpoint != "" {
		return strings.TrimSuffix(endpoint, "/") + "/"
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(a.text("region"), "cn-") {
		domain = "amazonaws.com.cn"
	}
	return "https://secretsmanager." + a.text("region") + "." + domain + "/"
}

func (a *awsManager) get(ctx context.Context, cache *aws.CredentialsCache, ref secret.Reference) (string, error) {
	credentials, err := cache.Retrieve(ctx)
	if err != nil {
		return "", noIdentity(err)
	}
	in := map[string]string{"SecretId": ref.Path}
	switch {
	case strings.HasPrefix(ref.Version, "AWS"): // AWSCURRENT, AWSPENDING, AWSPREVIOUS
		in["VersionStage"] = ref.Version
	case ref.Version != "":
		in["VersionId"] = ref.Version
	}
	body, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("encode the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.endpoint(), bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("request to AWS: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "secretsmanager.GetSecretValue")
	hash := sha256.Sum256(body)
	if err := a.signer.SignHTTP(ctx, credentials, req, hex.EncodeToString(hash[:]), "secretsmanager", a.text("region"), a.now()); err != nil {
		return "", fmt.Errorf("sign the request to AWS: %w", err)
	}
	status, raw, err := send(a.client, req)
	if err != nil {
		return "", err
	}
	if status != http.StatusOK {
		return "", awsFailure(status, raw)
	}
	var out struct {
		SecretString *string
		SecretBinary string
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return "", fail(refused, "its response is not from AWS Secrets Manager")
	}
	if out.SecretString != nil {
		return field(*out.SecretString, ref.Key)
	}
	binary, err := base64.StdEncoding.DecodeString(out.SecretBinary)
	if err != nil {
		return "", fail(refused, "its response is not from AWS Secrets Manager")
	}
	return field(string(binary), ref.Key)
}

// awsFailure reads an error of AWS, whose status is 400 for most.
func awsFailure(status int, raw []byte) error {
	var problem struct {
		Type     string `json:"__type"`
		Message  string `json:"message"`
		Message2 string `json:"Message"`
	}
	if json.Unmarshal(raw, &problem) != nil || problem.Type == "" {
		return answered(status, "")
	}
	kind := problem.Type[strings.LastIndex(problem.Type, "#")+1:]
	switch {
	case kind == "ResourceNotFoundException":
		return fail(refused, "there is no such secret or version")
	case slices.Contains([]string{"ThrottlingException", "InternalServiceError", "ServiceUnavailable"}, kind):
		return &failure{reason: unreachable, text: "it responded with " + kind, err: errors.New(shortened(problem.Message + problem.Message2))}
	case slices.Contains([]string{"AccessDeniedException", "ExpiredTokenException", "UnrecognizedClientException", "InvalidSignatureException", "InvalidClientTokenId", "MissingAuthenticationToken"}, kind):
		return fail(denied, "it denied access (%s): check the credentials of the store and their policy", kind)
	}
	return answered(status, kind)
}
