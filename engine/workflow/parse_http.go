package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (p *parser) http(parent *object) *HTTP {
	v, at, _ := parent.get("http")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	h := &HTTP{Method: strings.ToUpper(o.text(20, "method")), URL: o.text(8000, "url"), Headers: o.textMap("headers")}
	if h.Method == "" {
		h.Method = "GET"
	}
	switch body, _, _ := o.get("body"); b := body.(type) {
	case nil:
	case string:
		h.Body = b
	default: // a JSON body may be written as a mapping
		if encoded, err := json.Marshal(b); err == nil {
			h.Body = string(encoded)
		}
	}
	codes, path := o.list(100, "success")
	for i, c := range codes {
		n, err := strconv.Atoi(numberText(c))
		if err != nil || n < 100 || n > 599 {
			o.add(fmt.Sprintf("%s[%d]", path, i), "This must be a status code from 100 to 599.")
			continue
		}
		h.Success = append(h.Success, n)
	}
	slices.Sort(h.Success)
	h.Success = slices.Compact(h.Success)
	return h
}
