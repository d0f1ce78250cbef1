package form

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/web"
)

// Limits of a form, excluding its files.
const (
	maxFormText   = 8 << 20 // bytes of all text controls together
	maxFormValues = 50_000
	maxFolder     = 20_000 // files of one folder
)

// upload stores a file, or the files of a folder, that the form uploads in the background.
// The response is what the form then shows. The control is ?name=, its type ?type=.
func (h *Forms) upload(w http.ResponseWriter, r *http.Request) error {
	t, err := h.typeOf(r)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, content.MaxUpload)
	parts, err := r.MultipartReader()
	if err != nil {
		return apperr.Wrap(apperr.Invalid, err, "No file was sent.")
	}
	in := intake{h: h, limit: func(string) int64 { return maxBytes(t) }, folder: func(string) bool { return t.Kind == typeregistry.KindDirectory }}
	if err := in.read(r.Context(), parts); err != nil {
		return err
	}
	refs, err := in.refs(r.Context())
	if err != nil {
		return err
	}
	ref, ok := refs["file"]
	if !ok {
		return apperr.New(apperr.Invalid, "No file was sent.")
	}
	stored, _ := forms.ReadUpload(ref)
	if head, ok := h.Artifacts.Head(stored.SHA); ok {
		if message := t.CheckHead(head); message != "" {
			return apperr.New(apperr.Invalid, "%s", message)
		}
	}
	return web.Render(w, r, http.StatusCreated, forms.StoredFile(forms.Detached(t, r.URL.Query().Get("name"), "", forms.Preview{}), stored))
}

// Read reads a form. It stores files immediately, so that they still exist when the form is
// shown again with an error. schemaOf limits the size of files before the rest of the form
// is read; without it, any size is stored and checked later.
func (h *Forms) Read(w http.ResponseWriter, r *http.Request, schemaOf func(*http.Request) (typeregistry.Schema, error)) (url.Values, error) {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "multipart/form-data" {
		r.Body = http.MaxBytesReader(w, r.Body, maxFormText)
		if err := r.ParseForm(); err != nil {
			return nil, apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
		}
		return r.PostForm, nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, content.MaxUpload)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, "The form could not be read.")
	}
	in := intake{h: h, values: url.Values{}, limit: func(string) int64 { return 0 }, folder: func(string) bool { return false }}
	if schemaOf != nil {
		if schema, err := schemaOf(r); err == nil {
			in.follow(schema)
		}
	}
	if err := in.read(r.Context(), parts); err != nil {
		return nil, err
	}
	refs, err := in.refs(r.Context())
	if err != nil {
		return nil, err
	}
	for name, ref := range refs {
		in.values.Set(name+".$file", ref)
		for _, reference := range []string{name, name + ".$ref"} { // the file was chosen later
			if in.values.Has(reference) {
				in.values.Set(reference, "")
			}
		}
	}
	return in.values, nil
}

func maxBytes(t *typeregistry.Type) int64 {
	if t == nil || t.Params.MaxBytes == nil {
		return 0
	}
	return *t.Params.MaxBytes
}

// intake reads the parts of a multipart form as they arrive: text into values, files into
// the blob store.
type intake struct {
	h      *Forms
	values url.Values
	limit  func(control string) int64 // maximum size of a file, 0: unlimited
	folder func(control string) bool

	text  int
	count int
	files map[string][]artifact.Entry
	media map[string]string
}

// follow reads from schema the limits of files, and which controls are folders.
func (in *intake) follow(schema typeregistry.Schema) {
	in.limit = func(name string) int64 { return maxBytes(forms.TypeAt(schema, name)) }
	in.folder = func(name string) bool {
		t := forms.TypeAt(schema, name)
		return t != nil && t.Kind == typeregistry.KindDirectory
	}
}

func (in *intake) read(ctx context.Context, parts *multipart.Reader) error {
	in.files, in.media = map[string][]artifact.Entry{}, map[string]string{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
		}
		if in.count++; in.count > maxFormValues {
			return apperr.New(apperr.Invalid, "The form has more than %d values.", maxFormValues)
		}
		if name := fileName(part); name != "" {
			err = in.file(ctx, part, name)
		} else {
			err = in.value(part)
		}
		if err != nil {
			return err
		}
	}
}

func (in *intake) value(part *multipart.Part) error {
	body, err := io.ReadAll(io.LimitReader(part, int64(maxFormText-in.text)+1))
	if err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	if in.text += len(body); in.text > maxFormText {
		return tooLarge(maxFormText, "The form is larger than 8 MiB. Upload large values as files.")
	}
	if in.values != nil && part.Header.Get("Content-Disposition") != "" && !hasFileName(part) {
		in.values.Add(part.FormName(), string(body))
	}
	return nil
}

func (in *intake) file(ctx context.Context, part *multipart.Part, name string) error {
	control := part.FormName()
	limit := in.limit(control)
	body := io.Reader(part)
	if limit > 0 {
		body = io.LimitReader(part, limit+1)
	}
	blob, err := in.h.Artifacts.Upload(ctx, body)
	if err != nil {
		return err
	}
	if limit > 0 && blob.Size > limit {
		return tooLarge(limit, "%s is larger than %s. Choose a smaller file.", path.Base(name), units.Bytes(limit))
	}
	if len(in.files[control]) >= maxFolder {
		return apperr.New(apperr.Invalid, "The folder has more than %d files. Pack it into one file.", maxFolder)
	}
	in.files[control] = append(in.files[control], artifact.Entry{Path: name, SHA256: blob.SHA256, Size: blob.Size})
	in.media[control] = part.Header.Get("Content-Type")
	return nil
}

// tooLarge is the error of an upload larger than limit bytes.
func tooLarge(limit int64, format string, args ...any) error {
	return apperr.Wrap(apperr.Invalid, &http.MaxBytesError{Limit: limit}, fmt.Sprintf(format, args...))
}

// refs returns the reference of each control's file as JSON; a folder is the manifest of
// its files.
func (in *intake) refs(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for control, entries := range in.files {
		last := entries[len(entries)-1]
		ref := content.FileRef{
			SHA256: last.SHA256, Size: last.Size, Name: artifact.SafeFilename(last.Path, "file", "", ""),
			MediaType: artifact.MediaTypeOf("", last.Path, in.media[control]),
		}
		if in.folder(control) {
			var err error
			if ref, err = in.manifest(ctx, entries); err != nil {
				return nil, err
			}
		}
		text, err := json.Marshal(ref)
		if err != nil {
			return nil, err
		}
		out[control] = string(text)
	}
	return out, nil
}

// manifest stores the list of a folder's files, relative to the chosen folder.
func (in *intake) manifest(ctx context.Context, entries []artifact.Entry) (content.FileRef, error) {
	name := "folder"
	slices.SortFunc(entries, func(a, b artifact.Entry) int { return strings.Compare(a.Path, b.Path) })
	for i := range entries {
		if top, rest, ok := strings.Cut(entries[i].Path, "/"); ok {
			name, entries[i].Path = top, rest
		}
	}
	text, err := json.Marshal(artifact.Directory{Entries: entries})
	if err != nil {
		return content.FileRef{}, err
	}
	if _, err := artifact.ReadDirectory(bytes.NewReader(text)); err != nil {
		return content.FileRef{}, err
	}
	blob, err := in.h.Artifacts.Upload(ctx, bytes.NewReader(text))
	if err != nil {
		return content.FileRef{}, err
	}
	return content.FileRef{SHA256: blob.SHA256, Name: artifact.SafeFilename(name, "folder", "", artifact.DirectoryMediaType), Size: blob.Size, MediaType: artifact.DirectoryMediaType}, nil
}

// fileName is the browser's name of a part's file, with the path in a chosen folder; "" for
// text and for an empty file control.
func fileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	name := strings.TrimLeft(path.Clean("/"+strings.ReplaceAll(params["filename"], `\`, "/")), "/")
	if name == "." {
		return ""
	}
	return name
}

// hasFileName reports whether the part comes from a file control, empty or not.
func hasFileName(part *multipart.Part) bool {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	_, ok := params["filename"]
	return err == nil && ok
}
