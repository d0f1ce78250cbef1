// Package image finds out what images run by themselves: their ENTRYPOINT and CMD,
// which their registries tell. A pod whose container names no command needs it,
// because the program that the container begins with is the runner's. Nothing of an
// image is pulled but its manifest and its configuration.
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

// Command is what an image runs by itself.
type Command struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
}

// Config says how registries are asked. All may be left out.
type Config struct {
	// Known are commands of images that no registry is asked about, by their names.
	Known map[string]Command
	// Credentials is the path of a Docker config.json; "": registries are asked as anybody.
	Credentials string
	// Insecure are hosts, with their ports, that may be spoken to by plain http and may be
	// this machine itself.
	Insecure []string
	Timeout  time.Duration // of one look-up; 0: 10 s
	Most     int           // images that are remembered; 0: 1,000
	Logger   *slog.Logger
	Now      func() time.Time
	// Proxy finds the proxy for a request; nil: as the process environment says.
	Proxy func(*http.Request) (*url.URL, error)
}

const (
	// DefaultArchitecture is of images that several machines can run, when nothing says which.
	DefaultArchitecture = "amd64"

	tagLife     = 10 * time.Minute // for which a name is believed that may be moved
	failureLife = 10 * time.Second // for which a registry is not asked again
	// patience is for failures that follow each other to be one that lasts.
	patience = time.Minute
	// most is how many look-ups may be under way at one registry.
	most = 16
	// maxCommand bounds a command, in bytes: it becomes one variable of an environment.
	maxCommand = 64 << 10
	maxLogged  = 500
)

// ErrPending says that the answer is not there yet; it is looked up further.
var ErrPending = errors.New("the image is being looked up")

// Error says why it is not known what an image runs by itself.
type Error struct {
	Image   string
	Reason  string    // continues "cannot be looked up: ", without a full stop
	Passing bool      // it may go by itself
	Since   time.Time // such failures followed each other since
	Err     error     // for the log: what people are told holds no words of other servers
}

// Error returns the reason, with the image.
func (e *Error) Error() string { return fmt.Sprintf("look up the image %s: %s", e.Image, e.Reason) }

// Unwrap is for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Lookup remembers what it found out: of a digest for good, of a tag for 10 minutes, of
// the images that were asked for last. It is safe for concurrent use.
type Lookup struct {
	config Config
	known  map[string]Command

	mu      sync.Mutex
	cache   *cache
	flights map[string]*flight
	busy    map[string]int // look-ups under way, by registry
}

// flight is a look-up that is under way. What it found is set when done is closed.
type flight struct {
	begun   time.Time
	done    chan struct{}
	command Command
	err     error
}

// New returns a look-up. No request is made.
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

// key is the same for names that mean the same image.
func (l *Lookup) key(image string) string {
	ref, err := l.parse(image)
	if err != nil {
		return image
	}
	return ref.Name()
}

// Find returns what an image runs by itself on machines of an architecture ("" is
// DefaultArchitecture). A registry that has to be asked is asked once, however many want
// to know, and apart from the caller, who waits at most wait from its begin on; then the
// error is ErrPending. Others are *Error, or that of ctx.
func (l *Lookup) Find(ctx context.Context, image, architecture string, wait time.Duration) (Command, error) {
	architecture = cmp.Or(architecture, DefaultArchitecture)
	if c, ok := l.known[image]; ok {
		return c, nil
	}
	ref, err := l.parse(image)
	if err != nil {
		return Command{}, &Error{Image: image, Reason: "this is no name of an image", Err: err}
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
		f = &flight{begun: time.Now(), done: make(chan struct{})}
		l.flights[key] = f
		l.busy[host]++
		go l.fly(context.WithoutCancel(ctx), f, key, query{image: image, ref: ref, architecture: architecture})
	}
	l.mu.Unlock()
	return f.await(ctx, wait)
}

func (f *flight) await(ctx context.Context, wait time.Duration) (Command, error) {
	timer := time.NewTimer(time.Until(f.begun.Add(wait)))
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

// fly asks the registry, remembers what it says and tells those that wait.
func (l *Lookup) fly(ctx context.Context, f *flight, key string, q query) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	command, digest, err := l.fetch(ctx, q)
	var failed *Error
	if err != nil {
		failed = l.judge(ctx, q, err)
		l.config.Logger.Warn("An image could not be looked up.", "image", q.image, "error", cut(err.Error()))
	} else if size := sizeOf(command); size > maxCommand {
		failed = &Error{Image: q.image, Reason: fmt.Sprintf("it runs a command of %d bytes by itself, more than the %d that fit", size, maxCommand)}
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

// remembered is what was found for a digest.
func (l *Lookup) remembered(digest string) (Command, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.cache.get(digest, l.config.Now())
	return found.command, ok && found.failed == nil
}

// cut bounds what others' servers put into the log.
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
