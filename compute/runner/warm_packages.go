package runner

import (
	"fmt"
	"time"
)

// compilePackage makes a parent compile a code package for its forks.
const compilePackage = 'c'

// warmPackage is the message to a parent after compilePackage.
type warmPackage struct {
	Folder string `json:"folder"`
}

// compile makes the process compile the files in a folder, once; it requires the lock.
func (p *warmParent) compile(folder string) error {
	if folder == "" || p.packages[folder] {
		return nil
	}
	if p.retired {
		return errRetired
	}
	if p.packages == nil {
		p.packages = make(map[string]bool)
	}
	p.packages[folder] = true
	_ = p.control.SetDeadline(time.Now().Add(warmForkLimit))
	if err := sendFiles(p.control, []byte{compilePackage}); err != nil {
		return fmt.Errorf("request to compile: %w", err)
	}
	return sendMessage(p.control, warmPackage{folder}, nil)
}
