// Renders the API reference with the vendored Swagger UI; calls use the session cookie.
const root = document.getElementById("api-reference");
globalThis.SwaggerUIBundle({
  domNode: root,
  url: root.dataset.openapi,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  syntaxHighlight: { activated: false },
});
