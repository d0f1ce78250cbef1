package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/flowforge/flowforge/engine/expression"
)

func unsigned(*http.Request) error { return nil }

// connect reads the connection of the request: its address and how it signs requests.
func (c *call) connect(ctx context.Context) error {
	if c.work.Connection == "" {
		return nil
	}
	connection, _ := c.inputs[c.work.Connection].(map[string]any)
	fields, _ := connection["fields"].(map[string]any)
	text := func(name string) string { value, _ := fields[name].(string); return value }
	if c.base = text("base_url"); c.base == "" {
		return fmt.Errorf("the input %s is not a connection of kind http", c.work.Connection)
	}
	delete(c.inputs, c.work.Connection)
	switch method := text("authentication"); method {
	case "", "none":
	case "bearer":
		c.sign = func(req *http.Request) error { req.Header.Set("Authorization", "Bearer "+text("token")); return nil }
	case "basic":
		c.sign = func(req *http.Request) error { req.SetBasicAuth(text("username"), text("password")); return nil }
	case "oauth2":
		config := clientcredentials.Config{ClientID: text("client_id"), ClientSecret: text("client_secret"), TokenURL: text("token_url"), Scopes: strings.Fields(text("scope"))}
		if audience := text("audience"); audience != "" {
			config.EndpointParams = url.Values{"audience": {audience}}
		}
		client := *c.client
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the request has the secret
		source := config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, &client))
		c.sign = func(req *http.Request) error {
			token, err := source.Token()
			if err != nil {
				return fmt.Errorf("no access token from %s: %w", text("token_url"), tokenProblem(err))
			}
			token.SetAuthHeader(req)
			return nil
		}
	default:
		return fmt.Errorf("this runner does not support the authentication %q", method)
	}
	return nil
}

// tokenProblem is the status and error of a token endpoint, without the rest of its answer.
func tokenProblem(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		return unwrapURL(err)
	}
	parts := []string{refused.Response.Status}
	for _, part := range []string{refused.ErrorCode, refused.ErrorDescription} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return errors.New(strings.Join(parts, ": "))
}

// request is the first request, with all tags replaced.
func (c *call) request(ctx context.Context) (*http.Request, error) {
	address, err := c.fill(c.work.Url, addressText)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if c.base != "" && address != "" {
		separator := "/"
		if strings.HasPrefix(address, "?") {
			separator = ""
		}
		address = strings.TrimSuffix(c.base, "/") + separator + strings.TrimPrefix(address, "/")
	} else if c.base != "" {
		address = c.base
	}
	body, err := c.body()
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	method := c.work.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the request is not valid: %w", err)
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an http or https address", address)
	}
	if c.work.JsonBody {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.work.Headers {
		filled, err := c.fill(value, plainText)
		if err == nil && strings.ContainsAny(filled, "\r\n") {
			err = errors.New("a header cannot have line breaks")
		}
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		if strings.EqualFold(name, "Host") {
			req.Host = filled
		}
		req.Header.Set(name, filled)
	}
	return req, nil
}

// body is the body of the request. In JSON, a text that is one tag becomes a value of any type.
func (c *call) body() (string, error) {
	if !c.work.Tagged || !c.work.JsonBody {
		return c.fill(c.work.Body, plainText)
	}
	decoded, err := decodeJSON([]byte(c.work.Body))
	if err != nil {
		return "", err
	}
	if decoded, err = c.fillValue(decoded); err != nil {
		return "", err
	}
	encoded, err := json.Marshal(decoded)
	return string(encoded), err
}

func (c *call) fillValue(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		text, err := expression.ParseText(v)
		if err != nil {
			return nil, err
		}
		if tag := text.Only(); tag != nil {
			return tag.Value(c.inputs)
		}
		return c.fill(v, plainText)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			if out[i], err = c.fillValue(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if out[name], err = c.fillValue(v[name]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// fill replaces the tags of a text.
func (c *call) fill(text string, write func(any) (string, error)) (string, error) {
	if !c.work.Tagged {
		return text, nil
	}
	parsed, err := expression.ParseText(text)
	if err != nil {
		return "", err
	}
	return parsed.Fill(func(tag *expression.Expression) (string, error) {
		v, err := tag.Value(c.inputs)
		if err != nil {
			return "", err
		}
		if v == nil {
			return "", fmt.Errorf("the tag {{%s}} has no value", tag)
		}
		return write(v)
	})
}

// plainText writes a value; lists and objects as JSON.
func plainText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool, int64, float64:
		return fmt.Sprint(v), nil
	}
	encoded, err := json.Marshal(v)
	return string(encoded), err
}

// addressText writes a value for a path or a query of an address. The steps "." and ".." would change
// the rest of the path.
func addressText(v any) (string, error) {
	switch v.(type) {
	case string, bool, int64, float64:
	default:
		return "", errors.New("a list or an object cannot be part of an address")
	}
	text, err := plainText(v)
	if text == "." || text == ".." {
		return "", fmt.Errorf("the value %q cannot be part of an address", text)
	}
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), err
}
