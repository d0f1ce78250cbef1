package label

import (
	"net"
	"net/url"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/data/message"
)

// Connection specifies where a connection leads, without its user and its secret fields.
func Connection(c connection.Connection) string {
	switch c.Kind {
	case connection.Postgres:
		return net.JoinHostPort(c.Text("host"), c.Text("port")) + "/" + c.Text("database")
	case connection.S3:
		return "s3://" + c.Text("bucket")
	case connection.HTTP:
		return hostOf(c.Text("base_url"))
	case connection.HuggingFace, connection.ClickHouse, message.PagerDuty:
		return hostOf(c.Text("endpoint"))
	case message.Webhook:
		return hostOf(c.Text("url"))
	case message.Email:
		return c.Text("to")
	}
	return c.Kind
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	return u.Host
}
