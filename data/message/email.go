package message

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"html/template"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/flowforge/flowforge/platform/units"
)

// Values of the field security of e-mail.
const (
	StartTLS = "starttls"
	TLS      = "tls"
	Plain    = "none"
)

// Recipients splits the field "to": addresses separated by commas.
func Recipients(text string) []string {
	var list []string
	for address := range strings.SplitSeq(text, ",") {
		if address = strings.TrimSpace(address); address != "" {
			list = append(list, address)
		}
	}
	return list
}

func email(ctx context.Context, d Dialer, c Channel, m Message) (string, error) {
	letter, err := compose(c, m)
	if err != nil {
		return "", err
	}
	client, err := mailer(d, c)
	if err != nil {
		return "", &SendError{Reason: "The settings of the mail server are not valid. Edit the connection.", Permanent: true, Err: err}
	}
	started := time.Now()
	if err := client.DialAndSendWithContext(ctx, letter); err != nil {
		return "", refusedMail(ctx, err)
	}
	return fmt.Sprintf("accepted by %s after %s", c.text("host"), units.Duration(time.Since(started))), nil
}

// compose writes the e-mail. Its Message-ID follows from the message, so a repetition is recognized.
func compose(c Channel, m Message) (*mail.Msg, error) {
	letter := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := letter.From(c.text("from")); err != nil {
		return nil, &SendError{Reason: "The sender is not an e-mail address. Edit the connection.", Permanent: true, Err: err}
	}
	if err := letter.To(Recipients(c.text("to"))...); err != nil {
		return nil, &SendError{Reason: "A recipient is not an e-mail address. Edit the connection.", Permanent: true, Err: err}
	}
	subject, text := m.Title, plainText(m)
	if m.Custom != nil {
		subject, text = m.Custom.Subject, m.Custom.Text
	}
	letter.Subject(cut(subject, maxTitle))
	letter.SetDateWithValue(m.At)
	letter.SetMessageIDWithValue(m.ID + "@flowforge")
	letter.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Incident != "" { // one thread for each incident
		letter.SetGenHeader(mail.HeaderReferences, "<"+strings.NewReplacer("/", ".", " ", ".").Replace(m.Incident)+"@flowforge>")
	}
	letter.SetBodyString(mail.TypeTextPlain, text)
	if err := letter.AddAlternativeHTMLTemplate(letterTemplate(), htmlOf(m)); err != nil {
		return nil, &SendError{Reason: "The message could not be written as HTML.", Permanent: true, Err: err}
	}
	return letter, nil
}

func plainText(m Message) string {
	var out strings.Builder
	out.WriteString(m.Title + "\n")
	if m.Text != "" {
		out.WriteString("\n" + m.Text + "\n")
	}
	if len(m.Facts) > 0 {
		out.WriteString("\n")
	}
	for _, f := range m.Facts {
		out.WriteString(f.Name + ": " + f.Value + "\n")
	}
	for _, e := range m.Entries {
		out.WriteString("\n" + mark(e.Level) + " " + e.Title + "\n" + e.At.UTC().Format("2 Jan 2006, 15:04 UTC") + "\n" + e.URL + "\n")
	}
	if m.URL != "" {
		out.WriteString("\n" + m.URL + "\n")
	}
	if m.Settings != "" {
		out.WriteString("\nChoose which e-mails you receive: " + m.Settings + "\n")
	}
	return out.String()
}

// letterHTML are the values of letterTemplate.
type letterHTML struct {
	Message
	Color string
	Own   template.HTML // replaces the content
}

func htmlOf(m Message) letterHTML {
	var own template.HTML
	if m.Custom != nil {
		own = template.HTML(m.Custom.HTML) //nolint:gosec // Custom.HTML is sanitized
	}
	return letterHTML{m, map[Level]string{Error: "#b91c1c", Warning: "#b45309", OK: "#15803d", Info: "#1d4ed8"}[m.Level], own}
}

// letterTemplate has its styles inline, because mail programs ignore style sheets.
func letterTemplate() *template.Template {
	return template.Must(template.New("letter").Funcs(template.FuncMap{"mark": mark}).Parse(`<!doctype html>
<html lang="en"><body style="margin:0;padding:24px;background:#f6f7f9;font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:#111827">
<table role="presentation" width="100%" style="max-width:600px;margin:0 auto;background:#fff;border:1px solid #e5e7eb;border-left:4px solid {{.Color}};border-radius:8px"><tr><td style="padding:20px 24px">
{{if .Own}}{{.Own}}{{else}}<h1 style="margin:0 0 12px;font-size:18px;line-height:1.35">{{.Title}}</h1>
{{with .Text}}<pre style="margin:0 0 16px;padding:12px;background:#f6f7f9;border-radius:6px;white-space:pre-wrap;word-break:break-word;font:13px/1.5 ui-monospace,Menlo,Consolas,monospace">{{.}}</pre>{{end}}
{{if .Facts}}<table role="presentation" style="margin:0 0 16px;border-collapse:collapse">{{range .Facts}}<tr><td style="padding:2px 16px 2px 0;color:#6b7280">{{.Name}}</td><td style="padding:2px 0;word-break:break-word">{{.Value}}</td></tr>{{end}}</table>{{end}}
{{range .Entries}}<p style="margin:0 0 12px"><span aria-hidden="true">{{mark .Level}}</span> <a href="{{.URL}}" style="color:#111827;font-weight:600">{{.Title}}</a><br><span style="color:#6b7280;font-size:13px">{{.At.UTC.Format "2 Jan 2006, 15:04 UTC"}}</span></p>{{end}}
{{with .URL}}<a href="{{.}}" style="display:inline-block;padding:8px 14px;background:#111827;color:#fff;border-radius:6px;text-decoration:none">Open in FlowForge</a>{{end}}{{end}}
{{with .Settings}}<p style="margin:20px 0 0;font-size:13px;color:#6b7280"><a href="{{.}}" style="color:#6b7280">Choose which e-mails you receive</a></p>{{end}}
</td></tr></table></body></html>
`))
}

func mailer(d Dialer, c Channel) (*mail.Client, error) {
	host := c.text("host")
	port, err := strconv.Atoi(c.text("port"))
	if err != nil {
		return nil, fmt.Errorf("port: %w", err)
	}
	roots, err := trusted(c.text("ca_certificate"))
	if err != nil {
		return nil, err
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: roots}
	options := []mail.Option{mail.WithPort(port), mail.WithTimeout(Limit), mail.WithTLSConfig(config), mail.WithDialContextFunc(d.DialContext)}
	method := mail.SMTPAuthAutoDiscover
	switch c.text("security") {
	case TLS:
		// The library does not know that a connection of its caller is encrypted.
		method = mail.SMTPAuthPlain
		options = append(options, mail.WithSSL(), mail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialTLS(ctx, d, config, network, address)
		}))
	case Plain:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if user := c.text("username"); user != "" {
		options = append(options, mail.WithSMTPAuth(method), mail.WithUsername(user), mail.WithPassword(c.Secrets["password"]))
	}
	return mail.NewClient(host, options...)
}

// CheckCertificates returns an error unless text is empty or has only certificates in PEM format.
func CheckCertificates(text string) error {
	_, err := certificates(text)
	return err
}

func certificates(text string) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	for rest := []byte(strings.TrimSpace(text)); len(rest) > 0; {
		block, after := pem.Decode(rest)
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, errors.New("the text is not a certificate in PEM format")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate: %w", err)
		}
		list, rest = append(list, certificate), after
	}
	return list, nil
}

// trusted returns the certificates of the system and those in text, or nil for the system's alone.
func trusted(text string) (*x509.CertPool, error) {
	list, err := certificates(text)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has none
	}
	for _, certificate := range list {
		pool.AddCert(certificate)
	}
	return pool, nil
}

func dialTLS(ctx context.Context, d Dialer, config *tls.Config, network, address string) (net.Conn, error) {
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

// refusedMail describes why the server did not accept the e-mail. Codes from 500 are permanent
// (RFC 5321, section 4.2.1).
func refusedMail(ctx context.Context, err error) *SendError {
	if of, ok := errors.AsType[*mail.SendError](err); ok && of.ErrorCode() > 0 {
		return &SendError{Reason: fmt.Sprintf("The mail server responded with %d: %s.", of.ErrorCode(), cut(innermost(err), 200)), Permanent: of.ErrorCode() >= 500, Err: err}
	}
	return unreachable(ctx, err)
}
