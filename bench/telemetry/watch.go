package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// watch measures the time from the write of a line by a task until it is on an open page: the page
// of the execution, and the page of its log.
func (s *installation) watch(ctx context.Context, rate int, length time.Duration) error {
	lines := rate / concurrent * int(length.Seconds())
	workflow, err := s.register(ctx, concurrent, lines, rate/concurrent)
	if err != nil {
		return err
	}
	id, err := s.launch(ctx, workflow)
	if err != nil {
		return err
	}
	watching, stop := context.WithTimeout(ctx, length+10*time.Second)
	defer stop()
	pages := []struct{ name, path string }{
		{"the page of the execution", "/executions/" + id + "/stream"},
		{"the page of the log", "/executions/" + id + "/logs/stream"},
	}
	took := make([][]time.Duration, len(pages))
	failed := make([]error, len(pages))
	var readers sync.WaitGroup
	for i, page := range pages {
		readers.Go(func() {
			failed[i] = s.follow(watching, page.path, func(text string) { took[i] = append(took[i], ages(text, time.Now())...) })
		})
	}
	readers.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for i, page := range pages {
		shown := len(took[i])
		if shown == 0 {
			return fmt.Errorf("%s showed no line", page.name)
		}
		slices.Sort(took[i])
		fmt.Printf("| %d lines/s: a line on %s, p50 / p95 / p99 | %s; %d of %d lines |\n", rate, page.name, percentiles(took[i]), shown, lines*concurrent)
	}
	return s.ended(ctx, id)
}

// follow reads the messages of a stream until it or ctx ends.
func (s *installation) follow(ctx context.Context, path string, message func(text string)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL()+path, http.NoBody) //nolint:gosec // the installation that this command started
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.server.Token())
	res, err := s.streams.Do(req) //nolint:gosec // the installation that this command started
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, res.Status)
	}
	lines := bufio.NewReaderSize(res.Body, 16<<10)
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			return nil // the stream or the measurement has ended
		}
		message(text)
	}
}

// watchers measures the processor time of the server with many open pages: of one execution, and of
// as many different ones.
func (s *installation) watchers(ctx context.Context, o options) error {
	const linesPerSecond = 20
	seconds := int(o.time.Seconds()) + 120
	one, err := s.register(ctx, 1, linesPerSecond*seconds, linesPerSecond)
	if err != nil {
		return err
	}
	id, err := s.launch(ctx, one)
	if err != nil {
		return err
	}
	if err := s.crowd(ctx, fmt.Sprintf("%d open pages of one execution, %d lines/s", o.watchers, linesPerSecond), slices.Repeat([]string{id}, o.watchers), o.time); err != nil {
		return err
	}
	s.cancel(ctx, id)
	slow, err := s.register(ctx, 1, 2*seconds, 2)
	if err != nil {
		return err
	}
	ids := make([]string, o.spread)
	for i := range ids {
		if ids[i], err = s.launch(ctx, slow); err != nil {
			return err
		}
	}
	defer s.cancel(context.WithoutCancel(ctx), ids...)
	for i := range ids {
		if err := s.stored(ctx, ids[i], 1); err != nil {
			return err
		}
	}
	return s.crowd(ctx, fmt.Sprintf("%d executions with one open page each, 2 lines/s each", o.spread), ids, o.time)
}

// settle is the time after which every page has its first message.
const settle = 5 * time.Second

// crowd opens the pages of executions and measures the processor time meanwhile.
func (s *installation) crowd(ctx context.Context, name string, ids []string, length time.Duration) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var (
		readers         sync.WaitGroup
		messages, shown atomic.Int64
		once            sync.Once
		failed          error
	)
	begin := time.Now()
	opened := make(chan struct{}, len(ids))
	for _, id := range ids {
		readers.Go(func() {
			first := true
			err := s.follow(watching, "/executions/"+id+"/stream", func(text string) {
				if first {
					first = false
					opened <- struct{}{}
				}
				if text == "\n" {
					messages.Add(1)
				}
				shown.Add(int64(len(ages(text, time.Time{}))))
			})
			if watching.Err() == nil {
				once.Do(func() { failed = errors.Join(errors.New("a page ended"), err) })
				stop()
			}
		})
	}
	for range ids {
		select {
		case <-opened:
		case <-watching.Done():
			readers.Wait()
			return errors.Join(ctx.Err(), failed)
		}
	}
	all := time.Since(begin)
	if err := rest(ctx, settle); err != nil {
		return err
	}
	before, err := s.usage()
	if err != nil {
		return err
	}
	messagesBefore, shownBefore, from := messages.Load(), shown.Load(), time.Now()
	if err := rest(watching, length); err != nil {
		readers.Wait()
		return errors.Join(ctx.Err(), failed)
	}
	after, err := s.usage()
	if err != nil {
		return err
	}
	took := time.Since(from)
	fmt.Printf("| %s: processor time, %% of a core | %s |\n", name, after.since(before).percent(took))
	fmt.Printf("| … messages and lines received | %.0f/s, %.0f/s; all pages were open after %.1f s |\n",
		float64(messages.Load()-messagesBefore)/took.Seconds(), float64(shown.Load()-shownBefore)/took.Seconds(), all.Seconds())
	stop()
	readers.Wait()
	return nil
}
