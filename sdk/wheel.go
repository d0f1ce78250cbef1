package sdk

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// WheelName returns the file name of the wheel of a version (PEP 427).
func WheelName(version string) string { return "flowforge-" + version + "-py3-none-any.whl" }

// Wheel returns the wheel of the Python package, which pip can install. The same version gives the
// same bytes. The format is that of PEP 427, with metadata of version 2.1.
func Wheel(version string) ([]byte, error) {
	var buffer, record bytes.Buffer
	archive := zip.NewWriter(&buffer)
	info := "flowforge-" + version + ".dist-info/"
	add := func(name string, content []byte) error {
		sum := sha256.Sum256(content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
		return addFile(archive, name, content)
	}
	err := fs.WalkDir(Python, "python/flowforge", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := Python.ReadFile(path)
		return errors.Join(err, add(strings.TrimPrefix(path, "python/"), content))
	})
	err = errors.Join(err,
		add(info+"METADATA", metadata(version)),
		add(info+"WHEEL", []byte("Wheel-Version: 1.0\nGenerator: flowforge\nRoot-Is-Purelib: true\nTag: py3-none-any\n")),
		add(info+"entry_points.txt", []byte("[console_scripts]\nflowforge = flowforge._cli:main\n")))
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	if err = errors.Join(err, addFile(archive, info+"RECORD", record.Bytes()), archive.Close()); err != nil {
		return nil, fmt.Errorf("wheel: %w", err)
	}
	return buffer.Bytes(), nil
}

func addFile(archive *zip.Writer, name string, content []byte) error {
	w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}

func metadata(version string) []byte {
	return []byte("Metadata-Version: 2.1\nName: flowforge\nVersion: " + version +
		"\nSummary: FlowForge for Python: write, run and deploy workflows, and report from tasks\n" +
		"License: Apache-2.0\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n" + readme)
}
