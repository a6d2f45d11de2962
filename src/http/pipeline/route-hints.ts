// What callers are told at a path where nothing is, and where it is known what they meant. The answer stays a 404 of its door.
interface RouteHint {
  /** Absent: whichever. */
  readonly method?: 'GET' | 'POST'
  readonly path: RegExp
  readonly message: string
}

const ROUTE_HINTS: readonly RouteHint[] = [
  // Clients of OpenAI's whose base URL lacks its end.
  {
    method: 'POST',
    path: /^\/(?:chat\/completions|embeddings|responses)\/?$/,
    message: 'There is nothing here. The base URL for clients of OpenAI ends in /v1.',
  },
  {
    method: 'GET',
    path: /^\/models(?:\/.+)?$/,
    message: 'There is nothing here. The base URL for clients of OpenAI ends in /v1.',
  },
  {
    path: /^\/v1\/responses(?:\/.*)?$/,
    message: 'OpenAI’s Responses API is not served here. Chat completions are: POST /v1/chat/completions.',
  },
]

/** What to say of a request for nothing; undefined where nobody knows what it was meant for. */
export function findRouteHint(method: string, path: string): string | undefined {
  return ROUTE_HINTS.find((one) => (one.method ?? method) === method && one.path.test(path))?.message
}
