// Package image finds the default commands of images: their ENTRYPOINT and CMD, which it
// reads from registries. A pod with a container without a command needs it, because the
// container's first program is the runner. Only the manifest and the configuration of an
// image are fetched.
package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Command is the default command of an image.
type Command struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
}

// Config configures lookups. All fields are optional.
type Config struct {
	// Known are commands of images, by name, that are not looked up in a registry.
	Known map[string]Command
	// Credentials is the path of a Docker config.json; "": anonymous access.
	Credentials string
	// Insecure are hosts with ports that may be accessed by plain http and may be on this
	// machine.
	Insecure []string
	Timeout  time.Duration // of one lookup; 0: 10 s
	Most     int           // cached images; 0: 1,000
	Logger   *slog.Logger
	Now      func() time.Time
	// Proxy returns the proxy of a request; nil: from the process environment.
	Proxy func(*http.Request) (*url.URL, error)
}

const (
	// DefaultArchitecture is the architecture of multi-platform images when none is
	// requested.
	DefaultArchitecture = "amd64"

	tagLife     = 10 * time.Minute // how long the result for a tag is valid
	failureLife = 10 * time.Second // how long a failure is cached
	// failureSeriesGap is the maximum gap between failures that count as one series.
	failureSeriesGap = time.Minute
	// most is the maximum number of concurrent lookups per registry.
	most = 16
	// maxCommand bounds a command, in bytes: it becomes one variable of an environment.
	maxCommand = 64 << 10
	maxLogged  = 500
)

// ErrPending reports that the lookup is still in progress.
var ErrPending = errors.New("the image is being looked up")

// Error reports why the default command of an image is unknown.
type Error struct {
	Image   string
	Reason  string    // continues "cannot be looked up: ", without a full stop
	Passing bool      // the failure may be temporary
	Since   time.Time // start of the series of such failures
	Err     error     // for the log only: messages to users contain no text of other servers
}

// Error returns the reason, with the image.
func (e *Error) Error() string { return fmt.Sprintf("look up the image %s: %s", e.Image, e.Reason) }

// Unwrap is for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Lookup looks up images and caches the results: of digests permanently, of tags for 10
// minutes, for the most recently used images. It is safe for concurrent use.
type Lookup struct {
	config Config
	known  map[string]Command

	mu      sync.Mutex
	cache   *cache
	flights map[string]*flight
	busy    map[string]int // lookups in progress, by registry
}

// flight is a lookup in progress. Its result is set when done is closed.
type flight struct {
	started time.Time
	done    chan struct{}
	command Command
	err     error
}

// New returns a Lookup. It sends no request.
func New(config Config) *Lookup {
	config.Timeout = cmp.Or(config.Timeout, 10*time.Second)
	config.Most = cmp.Or(config.Most, 1000)
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Proxy == nil {
		config.Proxy = http.ProxyFromEnvironment
	}
	l := &Lookup{config: config, known: map[string]Command{}, cache: newCache(config.Most), flights: map[string]*flight{}, busy: map[string]int{}}
	for image, command := range config.Known {
		l.known[l.key(image)] = command
	}
	return l
}

// key returns the same key for all names of an image.
func (l *Lookup) key(image string) string {
	ref, err := l.parse(image)
	if err != nil {
		return image
	}
	return ref.Name()
}

// Find returns the default command of an image for an architecture ("":
// DefaultArchitecture). Concurrent callers share one request to the registry, which is
// independent of them; a caller waits at most wait from its start, then the error is
// ErrPending. Other errors are *Error or that of ctx.
func (l *Lookup) Find(ctx context.Context, image, architecture string, wait time.Duration) (Command, error) {
	architecture = cmp.Or(architecture, DefaultArchitecture)
	if c, ok := l.known[image]; ok {
		return c, nil
	}
	ref, err := l.parse(image)
	if err != nil {
		return Command{}, &Error{Image: image, Reason: "this is not an image name", Err: err}
	}
	if c, ok := l.known[ref.Name()]; ok {
		return c, nil
	}
	key, host := ref.Name()+" "+architecture, ref.Context().RegistryStr()
	l.mu.Lock()
	if found, ok := l.cache.get(key, l.config.Now()); ok {
		l.mu.Unlock()
		return found.command, found.error()
	}
	f := l.flights[key]
	if f == nil {
		if l.busy[host] >= most {
			l.mu.Unlock()
			return Command{}, ErrPending
		}
		f = &flight{started: time.Now(), done: make(chan struct{})}
		l.flights[key] = f
		l.busy[host]++
		go l.fly(context.WithoutCancel(ctx), f, key, query{image: image, ref: ref, architecture: architecture})
	}
	l.mu.Unlock()
	return f.await(ctx, wait)
}

func (f *flight) await(ctx context.Context, wait time.Duration) (Command, error) {
	timer := time.NewTimer(time.Until(f.started.Add(wait)))
	defer timer.Stop()
	select {
	case <-f.done:
		return f.command, f.err
	case <-timer.C:
		return Command{}, ErrPending
	case <-ctx.Done():
		return Command{}, ctx.Err() //nolint:wrapcheck // the caller's own
	}
}

// fly asks the registry, caches the result and wakes the waiting callers.
func (l *Lookup) fly(ctx context.Context, f *flight, key string, q query) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	command, digest, err := l.fetch(ctx, q)
	var failed *Error
	if err != nil {
		failed = l.judge(ctx, q, err)
		l.config.Logger.Warn("An image could not be looked up.", "image", q.image, "error", cut(err.Error()))
	} else if size := sizeOf(command); size > maxCommand {
		failed = &Error{Image: q.image, Reason: fmt.Sprintf("its default command has %d bytes; at most %d are supported", size, maxCommand)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.command = command
	switch now := l.config.Now(); {
	case failed != nil:
		failed.Since = l.cache.failingSince(key, now)
		f.err = failed
		l.cache.put(key, answer{failed: failed, at: now, until: now.Add(failureLife)})
	case q.pinned():
		l.cache.put(key, answer{command: command, at: now})
	default:
		l.cache.put(key, answer{command: command, at: now, until: now.Add(tagLife)})
		l.cache.put(digest, answer{command: command, at: now})
	}
	delete(l.flights, key)
	if host := q.ref.Context().RegistryStr(); l.busy[host] > 1 {
		l.busy[host]--
	} else {
		delete(l.busy, host)
	}
	close(f.done)
}

// remembered returns the cached result of a digest.
func (l *Lookup) remembered(digest string) (Command, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.cache.get(digest, l.config.Now())
	return found.command, ok && found.failed == nil
}

// cut limits the length of other servers' text in the log.
func cut(text string) string {
	if len(text) > maxLogged {
		return strings.ToValidUTF8(text[:maxLogged], "") + "…"
	}
	return text
}

func sizeOf(c Command) int {
	n := 0
	for _, list := range [][]string{c.Entrypoint, c.Cmd} {
		for _, word := range list {
			n += len(word) + 1
		}
	}
	return n
}
