package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/playwright-community/playwright-go"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/bench/site"
	"github.com/flowforge/flowforge/data/telemetry"
)

// flowForCurves has one node, to which the points belong.
const flowForCurves = `{"name":"bench.curves","version":"1.0.0","inputs":[{"name":"rate","type":"Float"}],"operators":[{"name":"train","type":"noop"}]}`

// browse measures the pages with the curves in a browser, against a server with finished executions.
func browse(ctx context.Context, o options) (err error) {
	database, engine := os.Getenv("FLOWFORGE_TEST_DATABASE_URL"), os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if database == "" || engine == "" {
		return errors.New("run it with cmd/testenv")
	}
	dir, err := os.MkdirTemp("", "flowforge-compare-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := site.Start(ctx, o.binary, filepath.Join(dir, "data"), "FLOWFORGE_DATABASE_URL="+database, "FLOWFORGE_CLICKHOUSE_URL="+engine)
	if err != nil {
		return err
	}
	defer s.Stop()
	places, err := launched(ctx, s, o.runs)
	if err != nil {
		return err
	}
	begin := time.Now()
	err = withTelemetry(ctx, telemetry.Config{ClickHouseURL: engine, SpoolDir: filepath.Join(dir, "spool"), SpoolMaxBytes: 4 << 30, Now: time.Now}, func(ctx context.Context, t *telemetry.Service) error {
		return load(ctx, t, places, 0, o.points)
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d executions with %d points each, stored in %.0f s\n\n", o.runs, o.points, time.Since(begin).Seconds())
	ids := make([]string, len(places))
	for i, p := range places {
		ids[i] = p.ExecutionID.String()
	}
	return inBrowser(ctx, s, o, map[string]string{
		"comparison":                  "/compare?" + url.Values{"executions": {strings.Join(ids, ",")}}.Encode() + "#curves",
		"charts beside the run table": "/executions?" + url.Values{"where": {"workflow:bench.curves"}, "columns": {"inputs.rate,metrics.loss~chart"}}.Encode(),
	})
}

// launched runs executions to their end.
func launched(ctx context.Context, s *site.Server, n int) ([]telemetry.Place, error) {
	if _, _, err := s.Call(ctx, http.MethodPost, "/api/v1/workflows", flowForCurves); err != nil {
		return nil, err
	}
	var places []telemetry.Place
	for i := range n {
		body, _, err := s.Call(ctx, http.MethodPost, "/api/v1/executions", fmt.Sprintf(`{"workflow":"bench.curves","inputs":{"rate":%d}}`, i+1))
		if err != nil {
			return nil, err
		}
		var e struct {
			ID     uuid.UUID `json:"execution_id"`
			Status string    `json:"status"`
		}
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, err
		}
		for e.Status != "SUCCEEDED" {
			if body, _, err = s.Call(ctx, http.MethodGet, "/api/v1/executions/"+e.ID.String(), ""); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(body, &e); err != nil {
				return nil, err
			}
		}
		places = append(places, telemetry.Place{ExecutionID: e.ID, ProjectID: auth.LocalProject})
	}
	return places, nil
}

// watchCurves notes in each page when its last chart has been painted: two frames after all charts
// with an address of curves have drawn. Times of a page begin with its navigation.
const watchCurves = `(() => {
	const note = (name) => { window.curves ??= {}; window.curves[name] ??= performance.now(); };
	const look = () => {
		const plots = [...document.querySelectorAll("figure[data-curves] [data-plot]")];
		if (!plots.length || plots.some((plot) => plot.hasAttribute("aria-busy") || !plot.querySelector("canvas"))) return;
		note("drawn");
		watcher.disconnect();
		requestAnimationFrame(() => requestAnimationFrame(() => { note("painted"); document.documentElement.dataset.painted = ""; }));
	};
	const watcher = new MutationObserver(look);
	watcher.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-busy"] });
})()`

// readCurves returns how a page went, in ms from the navigation.
const readCurves = `() => {
	const page = performance.getEntriesByType("navigation")[0];
	const data = performance.getEntriesByType("resource").find(({ name }) => name.includes("/compare/curves?"));
	const canvas = document.querySelector("figure[data-curves] canvas");
	const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
	let painted = 0;
	for (let i = 3; i < pixels.length; i += 4) if (pixels[i] > 0) painted++;
	return { page: page.responseEnd, requested: data.requestStart, answered: data.responseEnd, drawn: curves.drawn, painted: curves.painted,
		legend: document.querySelector("figure[data-curves] [data-one]").textContent, share: painted / (pixels.length / 4), bytes: data.encodedBodySize };
}`

// visitTimes are the times of one visit in ms, and what the chart shows.
type visitTimes struct {
	Page, Requested, Answered, Drawn, Painted float64
	Legend                                    string
	Share                                     float64 // of the pixels of the canvas that are painted
	Bytes                                     float64
}

func inBrowser(ctx context.Context, s *site.Server, o options, pages map[string]string) error {
	chromium := os.Getenv("FLOWFORGE_TEST_CHROMIUM")
	pw, err := playwright.Run(&playwright.RunOptions{DriverDirectory: os.Getenv("FLOWFORGE_TEST_PLAYWRIGHT"), SkipInstallBrowsers: true})
	if err != nil {
		return fmt.Errorf("run it with scripts/environment: %w", err)
	}
	defer func() { _ = pw.Stop() }()
	browser, err := pw.Chromium.Launch(playwright.BrowserTypeLaunchOptions{ExecutablePath: &chromium, Args: []string{"--no-sandbox", "--disable-gpu"}})
	if err != nil {
		return err
	}
	defer func() { _ = browser.Close() }()
	tab, err := signedIn(ctx, s, browser)
	if err != nil {
		return err
	}
	fmt.Println("Time from the navigation, median and highest of the visits:\n\n| page | page received | curves requested | curves received | drawn | painted |\n|---|--:|--:|--:|--:|--:|")
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		var visits []visitTimes
		for i := range o.visits + 1 { // the first one warms up
			v, err := visit(tab, s.URL()+pages[name])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if !strings.HasPrefix(v.Legend, fmt.Sprint(o.runs)+" curves") || v.Share < 0.05 {
				return fmt.Errorf("%s: the chart does not show %d curves: %q, %.0f %% painted", name, o.runs, v.Legend, 100*v.Share)
			}
			if i > 0 {
				visits = append(visits, v)
			}
		}
		fmt.Printf("| %s", name)
		for _, value := range []func(visitTimes) float64{
			func(v visitTimes) float64 { return v.Page }, func(v visitTimes) float64 { return v.Requested }, func(v visitTimes) float64 { return v.Answered },
			func(v visitTimes) float64 { return v.Drawn }, func(v visitTimes) float64 { return v.Painted },
		} {
			times := make([]float64, len(visits))
			for i, v := range visits {
				times[i] = value(v)
			}
			slices.Sort(times)
			fmt.Printf(" | %.0f, %.0f ms", times[len(times)/2], times[len(times)-1])
		}
		fmt.Printf(" |\n")
	}
	return nil
}

// signedIn opens a tab in which the local administrator is signed in.
func signedIn(ctx context.Context, s *site.Server, browser playwright.Browser) (playwright.Page, error) {
	window, err := browser.NewContext(playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	if err != nil {
		return nil, err
	}
	body, _, err := s.Call(ctx, http.MethodPost, "/api/v1/login-links", "")
	if err != nil {
		return nil, err
	}
	var link struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(body, &link); err != nil {
		return nil, err
	}
	_, token, _ := strings.Cut(link.URL, "token=")
	res, err := window.Request().Post(s.URL()+"/login", playwright.APIRequestContextPostOptions{Form: map[string]any{"token": token, "next": "/healthz"}})
	if err != nil {
		return nil, err
	}
	if res.Status() != http.StatusOK {
		return nil, fmt.Errorf("sign in: status %d", res.Status())
	}
	tab, err := window.NewPage()
	if err != nil {
		return nil, err
	}
	watch := watchCurves
	return tab, tab.AddInitScript(playwright.Script{Content: &watch})
}

// visit opens a page and waits until its curves are painted.
func visit(tab playwright.Page, address string) (visitTimes, error) {
	var v visitTimes
	if _, err := tab.Goto("about:blank"); err != nil { // an address that differs in its fragment alone is no navigation
		return v, err
	}
	if _, err := tab.Goto(address); err != nil {
		return v, err
	}
	if err := tab.Locator("html[data-painted]").WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateAttached}); err != nil {
		return v, err
	}
	found, err := tab.Evaluate(readCurves)
	if err != nil {
		return v, err
	}
	text, err := json.Marshal(found)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
}
