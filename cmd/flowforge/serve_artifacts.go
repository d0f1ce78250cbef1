package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/flowforge/flowforge/app"
)

// artifactsFromEnvironment reads the location of artifacts. The AWS SDK finds the credentials of
// an object store.
func artifactsFromEnvironment() (app.Artifacts, error) {
	pathStyle, err := flag("FLOWFORGE_S3_PATH_STYLE")
	return app.Artifacts{
		Location: os.Getenv("FLOWFORGE_ARTIFACTS"), Endpoint: os.Getenv("FLOWFORGE_S3_ENDPOINT"),
		PublicEndpoint: os.Getenv("FLOWFORGE_S3_PUBLIC_ENDPOINT"), PathStyle: pathStyle, Direct: os.Getenv("FLOWFORGE_S3_DIRECT"),
	}, err
}

// flag reads a boolean setting. An unset variable is false.
func flag(name string) (bool, error) {
	v, err := strconv.ParseBool(setting(name, "false"))
	if err != nil {
		return false, fmt.Errorf("%s %q: write true or false", name, os.Getenv(name))
	}
	return v, nil
}
