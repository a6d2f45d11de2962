// Conditional requests (RFC 9110, section 13) for content with a strong entity tag.

/** `etag` is strong and quoted, `last_modified` an HTTP date, or null for content without one. */
export interface CacheValidators {
  readonly etag: string
  readonly last_modified: string | null
}

type HeaderValue = string | null | undefined

export interface ConditionalHeaders {
  readonly 'if-match'?: HeaderValue
  readonly 'if-none-match'?: HeaderValue
  readonly 'if-range'?: HeaderValue
}

/** `failed` is 412, `unchanged` 304. */
export function evaluatePreconditions(
  conditions: ConditionalHeaders,
  { etag }: Pick<CacheValidators, 'etag'>,
): 'failed' | 'unchanged' | 'met' {
  const ifMatch = conditions['if-match'] ?? null
  if (ifMatch !== null && !hasMatchingTag(ifMatch, (tag) => tag === etag)) return 'failed'
  const ifNoneMatch = conditions['if-none-match'] ?? null
  // A cache may have weakened our tag (section 8.8.3.2).
  if (ifNoneMatch !== null && hasMatchingTag(ifNoneMatch, (tag) => tag.replace(/^W\//, '') === etag)) return 'unchanged'
  return 'met'
}

/** Whether a resource with this entity tag may be changed, or created (null). */
export function isChangeAllowed(
  conditions: Pick<ConditionalHeaders, 'if-match' | 'if-none-match'>,
  etag: string | null,
): boolean {
  if (etag !== null) return evaluatePreconditions(conditions, { etag }) === 'met'
  return (conditions['if-match'] ?? null) === null
}

/** Whether a range may be served: `If-Range` is absent, or names this content. */
export function isRangeCurrent(conditions: ConditionalHeaders, { etag, last_modified }: CacheValidators): boolean {
  const ifRange = conditions['if-range']?.trim()
  return ifRange === undefined || ifRange === etag || ifRange === last_modified
}

/** Whether an entity tag of the list fits; `*` always does. */
function hasMatchingTag(header: string, fits: (tag: string) => boolean): boolean {
  return header.trim() === '*' || (header.match(/(?:W\/)?"[^"]*"/g) ?? []).some(fits)
}
