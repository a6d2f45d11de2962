// Why a model server gave no answer, in words that follow its name. The details go only to the log.

/**
 * - `refused`: the server refuses connections
 * - `reset`: the connection broke
 * - `unknown_name`: the host name has no address
 * - `insecure`: the TLS connection failed
 * - `silent`: the server did not answer in time
 * - `broken`: the response is not valid HTTP
 * - `too_large`: the response exceeds a limit
 * - `closed`: this service is closing
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
  /** Whether the connection was gone before the server can have begun with the request. */
  readonly isUnprocessed: boolean

  /** The message continues after the name of the server. */
  constructor(fault: UpstreamFault, message: string, cause?: unknown, unread = fault === 'refused') {
    super(message, { cause })
    this.name = 'UpstreamFailure'
    this.fault = fault
    this.isUnprocessed = unread
  }
}

type FailureRule = readonly [codes: RegExp, fault: UpstreamFault, text: string]

/** The first matching rule counts. Codes are those of Node, OpenSSL, zlib, llhttp and undici. */
const FAILURE_RULES: readonly FailureRule[] = [
  [/^ECONNREFUSED$/, 'refused', 'refuses connections: nothing listens at its address'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'reset', 'closed the connection before its answer was complete'],
  [/^(ENOTFOUND|ENODATA)$/, 'unknown_name', 'has an unknown host name'],
  [/^(EAI_|ESERVFAIL)/, 'unknown_name', 'has a host name that could not be looked up'],
  [
    /^(CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|INVALID_CA|HOSTNAME_)/,
    'insecure',
    'has a certificate that is not trusted',
  ],
  [/^ERR_TLS_CERT/, 'insecure', 'has a certificate for another name'],
  [/^(ERR_TLS_|ERR_SSL_|EPROTO)/, 'insecure', 'could not make a secure connection'],
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/, 'silent', 'did not accept the connection in time'],
  [/^UND_ERR_HEADERS_TIMEOUT$/, 'silent', 'did not start its answer in time'],
  [/^UND_ERR_BODY_TIMEOUT$/, 'silent', 'stopped in the middle of its answer'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'too_large', 'sent an answer with too many headers'],
  [/^(HPE_|Z_|ERR__ERROR|ERR_BROTLI|ERR_PADDING|ERR_ZLIB|UND_ERR_RES)/, 'broken', 'sent a malformed answer'],
]

/** Turns an error into an UpstreamFailure. */
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

/** Returns the code of an error, or of the first nested error that has a code. */
function findErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { name, code, errors, cause } = error as Record<'name' | 'code' | 'errors' | 'cause', unknown>
  if (Array.isArray(errors) && errors.length > 0) return findErrorCode(errors[0])
  // Only the compiled parser sets a code.
  if (name === 'HTTPParserError') return 'HPE_'
  return typeof code === 'string' ? code : findErrorCode(cause)
}
