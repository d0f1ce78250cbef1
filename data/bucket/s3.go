package bucket

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/flowforge/flowforge/apperr"
)

// unsigned is the hash of a body that the signature does not cover.
const unsigned = "UNSIGNED-PAYLOAD"

// region is the region of the signature.
func (l Location) region() string {
	if l.Store == OSS {
		return cmp.Or(l.Region, ossRegion(l.Endpoint), "cn-hangzhou")
	}
	return cmp.Or(l.Region, "us-east-1")
}

// ossRegion is the region in an endpoint of OSS, such as oss-cn-hangzhou.aliyuncs.com; ""
// for other addresses.
func ossRegion(endpoint string) string {
	_, host, found := strings.Cut(endpoint, "oss-")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(host, ".")
	return strings.TrimSuffix(name, "-internal")
}

// base returns the address of the bucket. OSS accepts the bucket only in the host name;
// endpoints other than AWS accept it in the path.
func (l Location) base(ctx context.Context) (*url.URL, error) {
	endpoint, err := l.endpoint()
	if err != nil {
		return nil, err
	}
	switch {
	case l.Store == OSS && endpoint == nil:
		return nil, apperr.New(apperr.Invalid, "Set the endpoint of the bucket, such as oss-cn-hangzhou.aliyuncs.com.")
	case l.Store == Azure && endpoint == nil:
		return nil, apperr.New(apperr.Invalid, "Set the endpoint of the container, such as https://account.blob.core.windows.net.")
	case l.Store == GCS && endpoint == nil:
		return &url.URL{Scheme: "https", Host: gcsHost, Path: "/" + l.Bucket}, nil
	case l.Store == OSS:
		endpoint.Host = l.Bucket + "." + endpoint.Host
		return endpoint, nil
	case endpoint != nil && endpoint.Host != "s3.amazonaws.com":
		return endpoint.JoinPath(l.Bucket), nil
	}
	client := s3.New(s3.Options{Region: l.region(), Credentials: credentials("any", "any", "")}) // for the address alone
	signed, err := s3.NewPresignClient(client).PresignHeadBucket(ctx, &s3.HeadBucketInput{Bucket: &l.Bucket})
	if err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, fmt.Sprintf("The bucket %q has no address.", l.Bucket))
	}
	address, err := url.Parse(signed.URL)
	if err != nil {
		return nil, fmt.Errorf("the address of bucket %s: %w", l.Bucket, err)
	}
	address.RawQuery = ""
	return address, nil
}

func credentials(access, secret, session string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: access, SecretAccessKey: secret, SessionToken: session}, nil
	})
}

// signS3 signs a request in its query or its headers, with Amazon's signature of version 4.
func (l Location) signS3(ctx context.Context, method string, address *url.URL) (Request, error) {
	if l.AccessKey == "" { // a public bucket
		return Request{Method: method, URL: address.String()}, nil
	}
	if l.Headers {
		return l.signHeaders(ctx, method, address)
	}
	query := address.Query()
	query.Set("X-Amz-Expires", strconv.Itoa(int(validFor.Seconds())))
	address.RawQuery = encode(query)
	request := &http.Request{Method: method, URL: address, Host: address.Host, Header: http.Header{}}
	signed, _, err := signer().PresignHTTP(ctx, l.credentials(), request, unsigned, "s3", l.region(), time.Now().UTC())
	if err != nil {
		return Request{}, fmt.Errorf("sign a request for %s: %w", l, err)
	}
	return Request{Method: method, URL: signed}, nil
}

// emptyBody is the SHA-256 of an empty body.
const emptyBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// signHeaders signs a request in its headers.
func (l Location) signHeaders(ctx context.Context, method string, address *url.URL) (Request, error) {
	hash := emptyBody
	if method == http.MethodPut {
		hash = unsigned
	}
	request := &http.Request{Method: method, URL: address, Host: address.Host, Header: http.Header{"X-Amz-Content-Sha256": {hash}}}
	if err := signer().SignHTTP(ctx, l.credentials(), request, hash, "s3", l.region(), time.Now().UTC()); err != nil {
		return Request{}, fmt.Errorf("sign a request for %s: %w", l, err)
	}
	signed := Request{Method: method, URL: request.URL.String(), Header: map[string]string{}}
	for name := range request.Header {
		signed.Header[name] = request.Header.Get(name)
	}
	return signed, nil
}

func signer() *v4.Signer {
	return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
}

func (l Location) credentials() aws.Credentials {
	return aws.Credentials{AccessKeyID: l.AccessKey, SecretAccessKey: l.SecretKey, SessionToken: l.SessionToken}
}
