package connection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
)

func TestCertificateOfAMailServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Put(b.admin, connection.Edit{Name: "mail", Kind: "email", Values: values{
		"host": "smtp.example.com", "from": "flowforge@example.com", "to": "ada@example.com", "ca_certificate": "not a\ncertificate",
	}})
	fields := apperr.FieldsOf(err)
	require.Len(t, fields, 1, "%v", err)
	require.Equal(t, "values.ca_certificate", fields[0].Path)
	require.Contains(t, fields[0].Message, "PEM format")
}
