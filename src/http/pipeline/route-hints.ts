// Hints for callers of an unknown path whose intended path is known. The response stays a 404 in the error format of its path.
interface RouteHint {
  /** Absent: any method. */
  readonly method?: 'GET' | 'POST'
  readonly path: RegExp
  readonly message: string
}

const ROUTE_HINTS: readonly RouteHint[] = [
  // OpenAI clients whose base URL lacks `/v1`.
  {
    method: 'POST',
    path: /^\/(?:chat\/completions|embeddings|responses)\/?$/,
    message: 'Not found. The base URL for OpenAI clients ends in /v1.',
  },
  {
    method: 'GET',
    path: /^\/models(?:\/.+)?$/,
    message: 'Not found. The base URL for OpenAI clients ends in /v1.',
  },
  {
    path: /^\/v1\/responses(?:\/.*)?$/,
    message: 'OpenAI’s Responses API is not supported. Use chat completions: POST /v1/chat/completions.',
  },
]

/** The hint for an unknown path; undefined if there is none. */
export function findRouteHint(method: string, path: string): string | undefined {
  return ROUTE_HINTS.find((hint) => (hint.method ?? method) === method && hint.path.test(path))?.message
}
