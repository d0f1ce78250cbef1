package apperr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

func TestCodeAndMessage(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "unix", Err: errors.New("connection refused")}
	tests := []struct {
		name    string
		err     error
		code    Code
		message string
	}{
		{"none", nil, "", "Something went wrong on our side."},
		{"own", fmt.Errorf("get x: %w", New(NotFound, "There is no %s.", "x")), NotFound, "There is no x."},
		{"with a cause", Wrap(Conflict, refused, "It is taken."), Conflict, "It is taken."},
		{"foreign", errors.New("password=hunter2"), Internal, "Something went wrong on our side."},
		{"connection refused", fmt.Errorf("list: %w", refused), Unavailable, "A service that FlowForge depends on is not responding. Try again in a moment."},
		{"connection broken", fmt.Errorf("list: %w", io.ErrUnexpectedEOF), Unavailable, "A service that FlowForge depends on is not responding. Try again in a moment."},
		{"database stops", &pgconn.PgError{Code: "57P01"}, Unavailable, "A service that FlowForge depends on is not responding. Try again in a moment."},
		{"disk of the database is full", &pgconn.PgError{Code: "53100"}, Unavailable, "A service that FlowForge depends on is not responding. Try again in a moment."},
		{"statement takes too long", &pgconn.PgError{Code: "57014"}, Unavailable, "A service that FlowForge depends on is not responding. Try again in a moment."},
		{"transaction without a statement for too long", &pgconn.PgError{Code: "25P03"}, Unavailable, "A service that FlowForge depends on is not responding. Try again in a moment."},
		{"no connection in time", fmt.Errorf("list: %w", context.DeadlineExceeded), Unavailable, "A service that FlowForge depends on is not responding. Try again in a moment."},
		{"text with NUL", &pgconn.PgError{Code: "22021"}, Invalid, "The request contains characters that cannot be stored, such as NUL."},
		{"wrong statement", &pgconn.PgError{Code: "42601"}, Internal, "Something went wrong on our side."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.code, CodeOf(tt.err))
			require.Equal(t, tt.message, MessageOf(tt.err))
		})
	}
}

func TestInvalidFields(t *testing.T) {
	t.Parallel()
	require.NoError(t, InvalidFields("One value is wrong.", nil))
	fields := []Field{{Path: "inputs.epochs", Message: "Enter 1 to 16."}}
	require.Equal(t, fields, FieldsOf(fmt.Errorf("launch: %w", InvalidFields("One value is wrong.", fields))))
}
