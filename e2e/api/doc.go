// Package api tests the JSON API of the real binary against its own description: schemathesis
// generates requests from docs/openapi.json and checks every answer.
package api
