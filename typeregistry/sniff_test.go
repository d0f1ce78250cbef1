package typeregistry

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesAreWhatTheirBytesSay(t *testing.T) {
	t.Parallel()
	const (
		png, jpeg = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "\xff\xd8\xff\xe0\x00\x10JFIF"
		exe, elf  = "MZ\x90\x00\x03\x00\x00\x00", "\x7fELF\x02\x01\x01"
		svg, html = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`, "\ufeff \n<!doctype html><p>Hello"
		script    = "#!/bin/sh\nrm -rf /\n"
		csv       = "name,score\nä,1\n"
	)
	for _, tt := range []struct {
		expression, head, want string
	}{
		{"Image", png, ""}, {"Image", jpeg, ""}, {"Image", svg, ""}, {"Image", "GIF89a..", ""}, {"Image", "RIFF\x10\x00\x00\x00WEBPVP8 ", ""},
		{"Image", "P6\n3 2\n255\n", ""}, {"Image", "\x00\x00\x00\x1cftypavif", ""}, {"Image", strings.Repeat("\x00", 128) + "DICM", ""},
		{"Image", exe, "a Windows program"}, {"Image", elf, "a program"}, {"Image", script, "a script"}, {"Image", html, "an HTML page"},
		{"Image", "", "an empty file"}, {"Image", csv, "a text file"}, {"Image", "BMW and other cars", "a text file"}, {"Image", "P60 is a text", "a text file"},
		{"Image", "%PDF-1.7", "a PDF document"}, {"Image", "\x00\x01\x02", "a binary file"},
		{`Image(media_types=["image/png"])`, png, ""}, {`Image(media_types=["image/png"])`, jpeg, "Images of type image/jpeg are not accepted here"},
		{`Image(media_types=["image/*"])`, svg, ""},
		{"Table", csv, ""}, {"Table", "PAR1\x15\x04", ""}, {"Table", "", ""}, {"Table", exe, "a Windows program"}, {"Table", png, "an image of type image/png"},
		{"Table", script, "a script"}, {"Table", html, "an HTML page"}, {"Table", strings.Repeat("é", HeadBytes/2)[:HeadBytes-1], ""},
		{`Table(format="csv")`, csv, ""}, {`Table(format="csv")`, "\x1f\x8b\x08", ""}, {`Table(format="csv")`, "PAR1\x15", "a Parquet file"},
		{`Table(format="parquet")`, "PAR1\x15", ""}, {`Table(format="parquet")`, csv, "a text file"}, {`Table(format="lance")`, "\x00\x01", ""},
		{"Dataset", exe, ""}, {`Dataset(format="csv")`, exe, "a Windows program"}, {`Dataset(format="csv")`, csv, ""},
		{"Report", html, ""}, {"Report", "<h1>Report</h1>", ""}, {"Report", exe, "a Windows program"}, {"Report", csv, "a text file"}, {"Report", svg, "an image"},
		{"File", exe, ""}, {"Model", elf, ""}, {"Directory", exe, ""},
	} {
		kind, err := Builtin().Parse(tt.expression)
		require.NoError(t, err)
		message := kind.CheckHead([]byte(tt.head))
		if tt.want == "" {
			require.Empty(t, message, "%s of %.20q", tt.expression, tt.head)
		} else {
			require.Contains(t, message, tt.want, "%s of %.20q", tt.expression, tt.head)
		}
	}
}

func TestAnUploadIsLookedAtWhereItIsNamed(t *testing.T) {
	t.Parallel()
	list, err := Builtin().Parse("List<Image>")
	require.NoError(t, err)
	program := strings.Repeat("a", 64)
	env := Env{Head: func(sha string) ([]byte, bool) {
		if sha == program {
			return []byte("MZ\x90\x00"), true
		}
		return nil, false
	}}
	file := func(sha string) map[string]any {
		return map[string]any{"$file": sha, "name": "cat.png", "media_type": "image/png"}
	}
	problems := list.Check([]any{file(strings.Repeat("b", 64)), file(strings.ToUpper(program))}, env)
	require.Len(t, problems, 1)
	require.Equal(t, "1", problems[0].Path)
	require.Contains(t, problems[0].Message, "not an image")
}

func FuzzCheckHead(f *testing.F) {
	f.Add([]byte("MZ"))
	f.Add([]byte("\xff\x0a"))
	f.Fuzz(func(t *testing.T, head []byte) {
		for _, expression := range []string{"Image", "Table", `Table(format="csv")`, "Report"} {
			kind, err := Builtin().Parse(expression)
			if err != nil {
				t.Fatal(err)
			}
			kind.CheckHead(head)
		}
	})
}
