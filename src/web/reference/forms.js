// Uploads that are tried out: forms begin empty, and their files go last, as the service reads them.

/**
 * The document with forms whose fields have nothing in them that somebody would have to take out first.
 * @param {any} source an OpenAPI document; its forms are schemas of their own, with properties
 * @param {(value: any) => any} resolve
 */
export function emptyForms(source, resolve) {
  const copy = structuredClone(source)
  for (const { requestBody } of Object.values(copy.paths).flatMap((item) => Object.values(/** @type {any} */ (item)))) {
    const form = requestBody?.content?.['multipart/form-data']
    if (form) form.schema = emptied(resolve(form.schema))
  }
  return copy
}

/** A plugin of Swagger UI: an empty field is never sent, as it says nothing, and so nobody is asked whether to. */
export const formsPlugin = { wrapComponents: { ParameterIncludeEmpty: () => () => null } }

/** @param {any} schema */
function emptied(schema) {
  const fields = Object.entries(schema.properties).map(([name, field]) => [name, { ...field, example: '' }])
  return { ...schema, properties: Object.fromEntries(fields) }
}

/**
 * A form reaches the service in the order of its parts, and what stands behind a file is refused.
 * @template {{ body?: unknown }} Request
 * @param {Request} request
 * @returns {Request}
 */
export function filesLast(request) {
  if (!(request.body instanceof FormData)) return request
  const parts = [...request.body].sort(([, a], [, b]) => Number(a instanceof File) - Number(b instanceof File))
  const body = new FormData()
  for (const [name, value] of parts) body.append(name, value)
  return { ...request, body }
}
