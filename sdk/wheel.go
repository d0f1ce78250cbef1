package sdk

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A Package is a Python package that the server serves as a wheel.
type Package struct {
	name    string // of the distribution, as in the names of its files
	files   embed.FS
	root    string // folder of files whose contents are the root of the wheel
	top     string // the package at the root
	summary string
	readme  string
	extra   string // further lines of metadata
	entries string // its commands
}

// Packages returns the packages: the client, and the extension that makes FlowForge an orchestrator
// of Metaflow. The extension does not name the client as a dependency, because pip would look for it
// in a public index.
func Packages() []Package {
	return []Package{
		{name: "flowforge", files: Python, root: "python", top: "flowforge", readme: readme, entries: "[console_scripts]\nflowforge = flowforge._cli:main\n",
			summary: "FlowForge for Python: write, run and deploy workflows, and report from tasks"},
		{name: "flowforge_metaflow", files: Metaflow, root: "metaflow", top: "metaflow_extensions", readme: metaflowReadme, extra: "Requires-Dist: metaflow>=2.19\n",
			summary: "Runs flows of Metaflow on FlowForge"},
	}
}

// WheelName returns the file name of the wheel of a version (PEP 427).
func (p Package) WheelName(version string) string {
	return p.name + "-" + version + "-py3-none-any.whl"
}

// Wheel returns the wheel of the Python package, which pip can install. The same version gives the
// same bytes. The format is that of PEP 427, with metadata of version 2.1.
func (p Package) Wheel(version string) ([]byte, error) {
	var buffer, record bytes.Buffer
	archive := zip.NewWriter(&buffer)
	info := p.name + "-" + version + ".dist-info/"
	add := func(name string, content []byte) error {
		sum := sha256.Sum256(content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
		return addFile(archive, name, content)
	}
	err := fs.WalkDir(p.files, p.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := p.files.ReadFile(path)
		return errors.Join(err, add(strings.TrimPrefix(path, p.root+"/"), content))
	})
	err = errors.Join(err,
		add(info+"METADATA", p.metadata(version)),
		add(info+"WHEEL", []byte("Wheel-Version: 1.0\nGenerator: flowforge\nRoot-Is-Purelib: true\nTag: py3-none-any\n")),
		add(info+"top_level.txt", []byte(p.top+"\n"))) // Metaflow finds installed extensions by it
	if p.entries != "" {
		err = errors.Join(err, add(info+"entry_points.txt", []byte(p.entries)))
	}
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

func (p Package) metadata(version string) []byte {
	return []byte("Metadata-Version: 2.1\nName: " + strings.ReplaceAll(p.name, "_", "-") + "\nVersion: " + version +
		"\nSummary: " + p.summary + "\nLicense: Apache-2.0\nRequires-Python: >=3.9\n" + p.extra +
		"Description-Content-Type: text/markdown\n\n" + p.readme)
}

// WheelName returns the file name of the wheel of the client.
func WheelName(version string) string { return Packages()[0].WheelName(version) }
