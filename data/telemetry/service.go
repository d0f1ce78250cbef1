package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry/spool"
	"github.com/flowforge/flowforge/platform/sharing"
)

// Config configures the storage of telemetry and its retention.
type Config struct {
	// ClickHouseURL is http://, https:// or clickhouse://host[:port][/database], or
	// http+unix:///path/of/socket. "" keeps everything in the spool. The server must
	// know text indexes (26.2 and later).
	ClickHouseURL string
	Database      string // when the URL names none; "" is "flowforge"
	// Transport, if set, replaces the transport of HTTP requests. They may wait until it has started
	// ClickHouse.
	Transport func(*http.Transport) (http.RoundTripper, error)
	// Await, if set, starts ClickHouse before a statement and waits until it responds. It keeps running
	// until end is called.
	Await func(context.Context) (end func(), err error)
	// Check reports whether ClickHouse responds, without starting it; nil: a query does.
	Check func(context.Context) error

	SpoolDir      string
	SpoolMaxBytes int64 // of the spool's files; 0 is 1 GiB

	RetentionDays int // age at which log lines and metrics are dropped; 0 is 30

	// FlushInterval is how long records are batched before an insert; readers do not
	// wait for it. 0 is 500 ms.
	FlushInterval time.Duration
	// PollInterval is how often tails poll ClickHouse for lines of other servers that
	// share it. 0: this is the only server.
	PollInterval time.Duration

	// Points is called with the executions whose metric points were stored, while Run runs. It
	// is repeated until it succeeds; records do not wait for it.
	Points func(ctx context.Context, executions []uuid.UUID) error
	// PointsInterval is the least time between two calls of Points with the same execution. 0 is
	// three seconds.
	PointsInterval time.Duration

	Log *slog.Logger
	Now func() time.Time
}

const day = 24 * time.Hour

func (c *Config) setDefaults() {
	if c.Database == "" {
		c.Database = "flowforge"
	}
	if c.SpoolMaxBytes == 0 {
		c.SpoolMaxBytes = 1 << 30
	}
	if c.RetentionDays == 0 {
		c.RetentionDays = 30
	}
	if c.PointsInterval == 0 {
		c.PointsInterval = 3 * time.Second
	}
	if c.FlushInterval == 0 {
		c.FlushInterval = 500 * time.Millisecond
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Service appends and reads telemetry. It is safe for concurrent use.
type Service struct {
	cfg   Config
	spool *spool.Spool
	store *store // nil without ClickHouse
	hub   *hub
	cache *frameCache // for tails
	large *largeLogs
	wake  chan struct{} // there is something to flush
	noter *noter

	received receivedCounts

	// What readers share of the records of other servers.
	otherLines, otherPoints *others
	stretches               *sharing.Reads[stretch, []LogLine]
	sharedClock             func() time.Time // of their age

	// appending is held for reading during an append, and for writing to wait for all
	// appends.
	appending sync.RWMutex
	flushing  sync.Mutex // held by the running flush
	seenMu    sync.Mutex
	seen      *seen

	searching chan struct{} // has an element while the spool is searched

	statusMu sync.Mutex
	status   Status
}

// New opens the spool and prepares the connection; it does not need ClickHouse to be
// up. Run moves spooled records; Close ends appends.
func New(cfg Config) (*Service, error) {
	cfg.setDefaults()
	s := &Service{cfg: cfg, hub: newHub(), cache: newFrameCache(), large: newLargeLogs(), wake: make(chan struct{}, 1), seen: newSeen(), searching: make(chan struct{}, 1)}
	s.noter = newNoter(cfg)
	shareReads(s)
	var err error
	if cfg.ClickHouseURL != "" {
		if s.store, err = openStore(cfg); err != nil {
			return nil, err
		}
	}
	s.spool, err = spool.Open(spool.Config{Dir: cfg.SpoolDir, MaxBytes: cfg.SpoolMaxBytes}, s.remember)
	if err != nil {
		if s.store != nil {
			_ = s.store.close()
		}
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	s.status.ClickHouse = StateStarting
	if s.store == nil {
		s.status.ClickHouse = StateOff
	}
	if n := s.spool.Stats().Damaged; n > 0 {
		cfg.Log.Warn("the log spool ended in unfinished writes; they were never confirmed", "segments", n)
	}
	if s.spool.Stats().PendingRecords > 0 {
		s.signal()
	}
	return s, nil
}

// shareReads prepares what readers of s share, for half the time after which they ask again.
func shareReads(s *Service) {
	s.sharedClock = time.Now
	age := func() time.Time { return s.sharedClock() }
	s.otherLines, s.otherPoints = newOthers(s, "logs", s.cfg.PollInterval/2, age), newOthers(s, "metrics", s.cfg.PollInterval, age)
	s.stretches = sharing.New[stretch, []LogLine](s.cfg.PollInterval/2, age)
}

// Close ends appends and closes the connections. Appended records stay in the spool.
func (s *Service) Close() error {
	err := s.spool.Close()
	if s.store != nil {
		if cerr := s.store.close(); err == nil {
			err = cerr
		}
	}
	return err
}

// Conn returns the connection to ClickHouse for readers of other tables, or an error while the tables
// do not exist.
func (s *Service) Conn() (driver.Conn, error) {
	if s.store == nil || !s.store.migrated.Load() {
		return nil, errNotReady
	}
	return s.store.searches, nil
}

// Background returns the connection for what keeps other tables up to date, which waits for no reader.
// It returns an error while the tables do not exist.
func (s *Service) Background() (driver.Conn, error) {
	if s.store == nil || !s.store.migrated.Load() {
		return nil, errNotReady
	}
	return s.store.background, nil
}

func (s *Service) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// State is the availability of ClickHouse.
type State string

// The states of ClickHouse for this server.
const (
	StateOff      State = "off"      // none is configured
	StateStarting State = "starting" // not reached yet
	StateUp       State = "up"
	StateDown     State = "down"
)

// Status is the condition of telemetry, for pages and health checks.
type Status struct {
	ClickHouse     State
	Error          string    // of the last insert or connection, "" when up
	Since          time.Time // when ClickHouse took this state
	PendingRecords int64     // spooled, not yet in ClickHouse
	PendingBytes   int64
	SpoolMaxBytes  int64
	Refused        int64     // records refused because the spool or the disk was full
	RefusedAt      time.Time // the last time
}

// Status returns the current condition.
func (s *Service) Status() Status {
	st := s.spool.Stats()
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	out := s.status
	out.PendingRecords, out.PendingBytes, out.SpoolMaxBytes = st.PendingRecords, st.PendingBytes, st.MaxBytes
	return out
}

// Ready returns nil when ClickHouse responds and the spool has free space, otherwise an
// Unavailable error that names the cause.
func (s *Service) Ready(ctx context.Context) error {
	st := s.Status()
	if st.PendingBytes >= st.SpoolMaxBytes*95/100 {
		return apperr.New(apperr.Unavailable, "The spool for logs and metrics is full: %d MiB are waiting for ClickHouse.", st.PendingBytes>>20)
	}
	if s.store == nil {
		return apperr.New(apperr.Unavailable, "No ClickHouse is configured: logs and metrics stay in the spool.")
	}
	if err := s.check(ctx); err != nil {
		return apperr.Wrap(apperr.Unavailable, err, "ClickHouse is not responding. Logs and metrics are kept on disk.")
	}
	return nil
}

// check reports whether ClickHouse responds, or will respond to a request.
func (s *Service) check(ctx context.Context) error {
	if s.cfg.Check != nil {
		return s.cfg.Check(ctx)
	}
	return s.store.inserts.Ping(ctx)
}

func (s *Service) setState(state State, err error) {
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	s.status.Error = ""
	if err != nil {
		s.status.Error = err.Error()
	}
	if s.status.ClickHouse == state {
		return
	}
	s.status.ClickHouse, s.status.Since = state, s.cfg.Now()
	if state == StateDown {
		s.cfg.Log.Warn("ClickHouse is down: logs and metrics wait on disk", "error", err)
		return
	}
	s.cfg.Log.Info("ClickHouse is up")
}

// scope authorizes reading and returns the project whose records may be read, nil for
// all of them.
func scope(ctx context.Context) (*uuid.UUID, error) {
	subject, err := auth.Authorize(ctx, auth.LogRead)
	if err != nil {
		return nil, err
	}
	if subject.Role == auth.RoleSystem {
		return nil, nil
	}
	return &subject.ProjectID, nil
}
