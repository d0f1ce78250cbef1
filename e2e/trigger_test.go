package e2e

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact/s3test"
)

// TestATrigger is made in the form, rejects a wrong filter without losing anything, is tested, and
// launches when its webhook arrives.
func TestATrigger(t *testing.T) {
	t.Parallel()
	s := shared.server
	s.api(t, http.MethodPut, "/secrets/portal-hook", map[string]any{"value": "a secret of the portal"}, nil)
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/triggers")
	audit(t, page)
	click(t, page.Locator(".page-head").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "New trigger"}))
	click(t, page.Locator(".trigger-kinds").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Webhook"}))
	fill(t, page.Locator("#trigger-name"), "portal")
	_, err := page.Locator("#trigger-signature").SelectOption(playwright.SelectOptionValues{Values: &[]string{"bearer"}})
	require.NoError(t, err)
	_, err = page.Locator("#trigger-secret").SelectOption(playwright.SelectOptionValues{Values: &[]string{"portal-hook"}})
	require.NoError(t, err)
	fill(t, page.Locator("#trigger-filter"), "execution.state == 'FAILED'")
	fill(t, page.Locator("#trigger-workflow"), "image.report")
	fill(t, page.Locator("#trigger-inputs"), `{"lighting": "{{ payload.light }}"}`)
	click(t, button(page, "Save trigger"))
	holds(t, page.Locator(".field-error"), `Unknown name "execution"`)
	hasValue(t, page.Locator("#trigger-inputs"), `{"lighting": "{{ payload.light }}"}`)
	audit(t, page)
	picture(t, page, "trigger-form")
	fill(t, page.Locator("#trigger-filter"), "payload.light > 10")
	click(t, button(page, "Save trigger"))
	holds(t, page.Locator("h1"), "portal")
	fill(t, page.Locator("#trigger-event"), `{"payload": {"light": 35}}`)
	click(t, button(page, "Test"))
	holds(t, page.Locator(".trial"), "Would launch")
	holds(t, page.Locator(".trial"), `"lighting": 35`)
	hook, err := page.Locator("code.break").TextContent()
	require.NoError(t, err)
	for body, status := range map[string]int{`{"light": 35}`: http.StatusAccepted, `{"light": 5}`: http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/hooks/"+path.Base(hook), strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer a secret of the portal")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, status, res.StatusCode)
	}
	visit(t, page, "/triggers/portal")
	holds(t, page.Locator(".deliveries"), "The filter is false: payload.light > 10")
	audit(t, page)
	picture(t, page, "trigger")
	noSidewaysScroll(t, page)
	click(t, page.Locator(".deliveries").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "image.report"}))
	holds(t, page.Locator("main"), "launched by trigger portal")
}

// TestATriggerThatPolls is made in the form, is corrected, and launches for a new object in the bucket.
func TestATriggerThatPolls(t *testing.T) {
	t.Parallel()
	s := shared.server
	lake := s3test.Start(t, "lake")
	s.api(t, http.MethodPut, "/connections/lake", map[string]any{"kind": "s3", "values": map[string]any{
		"bucket": "lake", "endpoint": lake.Endpoint, "access_key_id": s3test.AccessKey, "secret_access_key": s3test.SecretKey,
	}}, nil)
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/triggers/new")
	audit(t, page)
	click(t, page.Locator(".trigger-kinds").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Bucket"}))
	fill(t, page.Locator("#trigger-name"), "new-files")
	_, err := page.Locator("#trigger-connection").SelectOption(playwright.SelectOptionValues{Values: &[]string{"lake"}})
	require.NoError(t, err)
	fill(t, page.Locator("#trigger-prefix"), "raw/")
	fill(t, page.Locator("#trigger-pattern"), "*.png")
	fill(t, page.Locator("#trigger-every"), "1 s")
	fill(t, page.Locator("#trigger-workflow"), "image.report")
	fill(t, page.Locator("#trigger-inputs"), "{}")
	click(t, button(page, "Save trigger"))
	holds(t, page.Locator(".error-summary"), "Enter 10 s to 31 days.")
	hasValue(t, page.Locator("#trigger-pattern"), "*.png")
	audit(t, page)
	picture(t, page, "trigger-form-bucket")
	noSidewaysScroll(t, page)
	fill(t, page.Locator("#trigger-every"), "10 s")
	click(t, button(page, "Save trigger"))
	holds(t, page.Locator("h1"), "new-files")
	eventually(t, "the first poll", func() (string, bool) {
		var stored struct {
			Polls struct{ Error, Status string }
		}
		s.api(t, http.MethodGet, "/triggers/new-files", nil, &stored)
		return stored.Polls.Error, stored.Polls.Status == "0 objects"
	})

	client := s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &lake.Endpoint, UsePathStyle: true, Credentials: s3test.Credentials()})
	_, err = client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("lake"), Key: aws.String("raw/one.png"), Body: strings.NewReader("a picture")})
	require.NoError(t, err)
	visit(t, page, "/triggers/new-files")
	click(t, button(page, "Poll now"))
	eventually(t, "the delivery of the object", func() (string, bool) {
		var list struct{ Deliveries []any }
		s.api(t, http.MethodGet, "/triggers/new-files/deliveries", nil, &list)
		return "", len(list.Deliveries) == 1
	})
	visit(t, page, "/triggers/new-files")
	holds(t, page.Locator(".deliveries"), "raw/one.png")
	holds(t, page.Locator(".deliveries"), "Launched")
	audit(t, page)
	picture(t, page, "trigger-polls")
	noSidewaysScroll(t, page)
	click(t, page.Locator(".deliveries").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "image.report"}))
	holds(t, page.Locator("main"), "launched by trigger new-files")

	visit(t, page, "/triggers/new?kind=all")
	audit(t, page)
	fill(t, page.Locator("[name='all.0.name']"), "images")
	click(t, button(page, "Add condition"))
	hasValue(t, page.Locator("[name='all.0.name']"), "images")
	holds(t, page.Locator(".condition >> nth=2"), "Condition 3")
	audit(t, page)
	picture(t, page, "trigger-form-all")
	noSidewaysScroll(t, page)

	// A condition shows the fields of its kind.
	for i, c := range []struct{ waits, shown, hidden string }{{"webhook", "secret", "sources"}, {"http:changes", "address", "secret"}, {"s3", "store", "address"}, {"dataset", "sources", "every"}} {
		_, err = page.Locator("[name='all.1.waits']").SelectOption(playwright.SelectOptionValues{Values: &[]string{c.waits}})
		require.NoError(t, err)
		require.NoError(t, page.Locator("[name='all.1."+c.shown+"']").WaitFor(), "%d", i)
		hidden, err := page.Locator("[name='all.1." + c.hidden + "']").IsHidden()
		require.NoError(t, err)
		require.True(t, hidden, "%s shows %s", c.waits, c.hidden)
		audit(t, page)
	}
}
