// Why a server of models gave no answer, in words that can stand after its name. What exactly happened is for the log alone.

/**
 * `refused`: nobody listens. `reset`: the connection broke. `unknown_name`: its name means nothing. `insecure`: no secure connection came about.
 * `silent`: nothing came in time. `broken`: what came is no HTTP. `too_large`: there is more than anybody takes. `closed`: this service ends.
 */
export type UpstreamFault =
  | 'refused'
  | 'reset'
  | 'unknown_name'
  | 'insecure'
  | 'silent'
  | 'broken'
  | 'too_large'
  | 'closed'

export class UpstreamFailure extends Error {
  readonly fault: UpstreamFault
  /** Whether the connection was gone before anybody can have begun with the request. */
  readonly isUnprocessed: boolean

  /** The message goes on after the name of the server. */
  constructor(fault: UpstreamFault, message: string, cause?: unknown, unread = fault === 'refused') {
    super(message, { cause })
    this.name = 'UpstreamFailure'
    this.fault = fault
    this.isUnprocessed = unread
  }
}

type FailureRule = readonly [codes: RegExp, fault: UpstreamFault, text: string]

/** The first that fits counts. Codes are those of Node, OpenSSL, zlib, llhttp and undici. */
const FAILURE_RULES: readonly FailureRule[] = [
  [/^ECONNREFUSED$/, 'refused', 'refuses connections: nothing listens at its address'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'reset', 'closed the connection before its answer was complete'],
  [/^(ENOTFOUND|ENODATA)$/, 'unknown_name', 'has an address whose name is not known'],
  [/^(EAI_|ESERVFAIL)/, 'unknown_name', 'has an address whose name could not be looked up'],
  [
    /^(CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|INVALID_CA|HOSTNAME_)/,
    'insecure',
    'has a certificate that is not trusted',
  ],
  [/^ERR_TLS_CERT/, 'insecure', 'has a certificate for another name'],
  [/^(ERR_TLS_|ERR_SSL_|EPROTO)/, 'insecure', 'did not agree on a secure connection'],
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/, 'silent', 'did not take the connection in time'],
  [/^UND_ERR_HEADERS_TIMEOUT$/, 'silent', 'did not begin to answer in time'],
  [/^UND_ERR_BODY_TIMEOUT$/, 'silent', 'fell silent in the middle of its answer'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'too_large', 'sent an answer whose head is too large'],
  [/^(HPE_|Z_|ERR__ERROR|ERR_BROTLI|ERR_PADDING|ERR_ZLIB|UND_ERR_RES)/, 'broken', 'sent an answer that is broken'],
]

/** What went wrong, as an UpstreamFailure. */
export function toUpstreamFailure(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error
  const code = findErrorCode(error)
  const [, fault, text] = FAILURE_RULES.find(([codes]) => codes.test(code)) ?? [
    null,
    'reset' as const,
    'could not be reached',
  ]
  return new UpstreamFailure(fault, text, error)
}

/** The code of an error, or of the first one in it that has a code. */
function findErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { name, code, errors, cause } = error as Record<'name' | 'code' | 'errors' | 'cause', unknown>
  if (Array.isArray(errors) && errors.length > 0) return findErrorCode(errors[0])
  // The parser has a code only where it is the compiled one.
  if (name === 'HTTPParserError') return 'HPE_'
  return typeof code === 'string' ? code : findErrorCode(cause)
}
