package api

import (
	"strings"

	"github.com/danielgtaylor/huma/v2/validation"
)

// requiredPrefix and requiredSuffix enclose the name in huma's message about a missing property.
// named reads the name from it, so this message stays as it is.
const (
	requiredPrefix = "expected required property "
	requiredSuffix = " to be present"
)

// setMessages replaces huma's messages about values with ours, which say what to enter.
func setMessages() {
	validation.MsgUnexpectedProperty = "There is no field with this name."
	validation.MsgExpectedRFC3339DateTime = "Enter a date and time such as 2026-01-31T12:00:00Z."
	validation.MsgExpectedRFC1123DateTime = "Enter a date and time such as Sat, 31 Jan 2026 12:00:00 GMT."
	validation.MsgExpectedRFC3339Date = "Enter a date such as 2026-01-31."
	validation.MsgExpectedRFC3339Time = "Enter a time such as 12:00:00Z."
	validation.MsgExpectedRFC5322Email = "Enter an e-mail address (%v)."
	validation.MsgExpectedRFC5890Hostname = "Enter the name of a host."
	validation.MsgExpectedRFC2673IPv4 = "Enter an IPv4 address."
	validation.MsgExpectedRFC2373IPv6 = "Enter an IPv6 address."
	validation.MsgExpectedRFCIPAddr = "Enter an IP address."
	validation.MsgExpectedRFC3986URI = "Enter a URL (%v)."
	validation.MsgExpectedRFC4122UUID = "Enter a UUID (%v)."
	validation.MsgExpectedRegexp = "Enter a regular expression (%v)."
	validation.MsgExpectedMatchAtLeastOneSchema = "Enter a value of one of the types in the API description."
	validation.MsgExpectedMatchExactlyOneSchema = "Enter a value of exactly one of the types in the API description."
	validation.MsgExpectedNotMatchSchema = "This value is not accepted."
	validation.MsgExpectedBoolean = "Enter true or false."
	validation.MsgExpectedDuration = "Enter a duration such as 30s, 5m or 2h (%v)."
	validation.MsgExpectedNumber = "Enter a number."
	validation.MsgExpectedInteger = "Enter a whole number."
	validation.MsgExpectedString = "Enter a string."
	validation.MsgExpectedBase64String = "Enter a string in base64."
	validation.MsgExpectedArray = "Enter a list."
	validation.MsgExpectedObject = "Enter an object."
	validation.MsgExpectedArrayItemsUnique = "Enter each item only once."
	validation.MsgExpectedOneOf = "Enter one of: %s."
	validation.MsgExpectedMinimumNumber = "The minimum is %v."
	validation.MsgExpectedExclusiveMinimumNumber = "Enter a number greater than %v."
	validation.MsgExpectedMaximumNumber = "The maximum is %v."
	validation.MsgExpectedExclusiveMaximumNumber = "Enter a number less than %v."
	validation.MsgExpectedNumberBeMultipleOf = "Enter a multiple of %v."
	validation.MsgExpectedMinLength = "The minimum length is %d."
	validation.MsgExpectedMaxLength = "The maximum length is %d."
	validation.MsgExpectedBePattern = "Use %s."
	validation.MsgExpectedMatchPattern = "Enter a value that matches the pattern %s."
	validation.MsgExpectedMinItems = "The minimum number of items is %d."
	validation.MsgExpectedMaxItems = "The maximum number of items is %d."
	validation.MsgExpectedMinProperties = "The minimum number of fields is %d."
	validation.MsgExpectedMaxProperties = "The maximum number of fields is %d."
	validation.MsgExpectedDependentRequiredProperty = "Enter %s as well: it is required with %s."
}

// parameterMessage replaces huma's messages about parameters of the path, the query and headers,
// which are constants of its code.
func parameterMessage(message string) string {
	switch message {
	case "invalid integer":
		return validation.MsgExpectedInteger
	case "invalid float", "invalid floating value":
		return validation.MsgExpectedNumber
	case "invalid boolean":
		return validation.MsgExpectedBoolean
	case "invalid url.URL value":
		return "Enter a URL."
	}
	switch {
	case strings.HasPrefix(message, "invalid date/time for format "):
		return validation.MsgExpectedRFC3339DateTime
	case strings.HasPrefix(message, "required ") && strings.HasSuffix(message, " parameter is missing"):
		return "Enter a value: it is required."
	}
	return message
}
