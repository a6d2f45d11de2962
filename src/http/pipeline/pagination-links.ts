// Links between the pages of a list.

/** The `Link` header of a page that is not the last (RFC 8288). */
export function createNextLink(
  path: string,
  query: Readonly<Record<string, unknown>>,
  next: string | null,
): Record<string, string> {
  if (next === null) return {}
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && name !== 'cursor') search.set(name, String(value))
  }
  search.set('cursor', next)
  return { Link: `<${path}?${search}>; rel="next"` }
}
