//go:build !nochdb

package facade

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowforge/flowforge/platform/embedded/clickhouse/chdb"
)

// session is an engine connection with what was set on it.
type session struct {
	conn     *chdb.Conn
	tag      string // value of log_comment, by which KILL QUERY finds the statement
	database string
	changed  []string // settings to put back
}

// prepare applies the database and the settings of st.
func (s *session) prepare(st *statement) error {
	if st.database != "" && st.database != s.database {
		if err := s.conn.Exec("USE " + quoteIdent(st.database)); err != nil {
			return err
		}
		s.database = st.database
	}
	if len(st.settings) == 0 {
		return nil
	}
	assignments := make([]string, 0, len(st.settings))
	for _, setting := range st.settings {
		if !settingName.MatchString(setting.Name) {
			return fmt.Errorf("Code: 115. DB::Exception: Unknown setting %q. (UNKNOWN_SETTING)", setting.Name)
		}
		assignments = append(assignments, setting.Name+"="+quoteString(setting.Value))
		s.changed = append(s.changed, setting.Name)
	}
	slices.Sort(assignments)
	return s.conn.Exec("SET " + strings.Join(assignments, ", "))
}

// resetSettings puts changed settings back to their defaults.
func (s *session) resetSettings() {
	if len(s.changed) == 0 {
		return
	}
	for _, name := range s.changed {
		// One by one: an unknown name must not keep the others from being reset.
		_ = s.conn.Exec("SET " + name + "=DEFAULT")
	}
	s.changed = nil
}

// cancelWith kills what runs on held when ctx ends. After end has returned
// nothing is killed any more.
func (s *Server) cancelWith(ctx context.Context, held *session) (end func()) {
	var mu sync.Mutex
	ended := false
	stop := context.AfterFunc(ctx, func() {
		killer := <-s.killer
		defer func() { s.killer <- killer }()
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		// A failure leaves the statement to its end, which costs time only.
		_ = killer.Exec("KILL QUERY WHERE Settings['log_comment']=" + quoteString(held.tag) + " ASYNC")
	})
	return func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

var settingName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func quoteIdent(s string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(s) + "`"
}

func quoteString(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
