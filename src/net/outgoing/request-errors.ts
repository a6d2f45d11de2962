// Turns a failed request into an error with a stable type and a sentence that
// says what to do. The error's cause holds the details for the log.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { truncateValue } from '../../shared/text-truncation.ts'
import type { SecretMask } from '../secret-mask.ts'
import { UnknownEncoding } from './response-body.ts'
import { addressRefusedError, type OutgoingTarget, RefusedAddressError } from './target-url.ts'

interface FailureRule {
  readonly type: string
  readonly codes: RegExp
  /** The text after the host's name. */
  readonly text: string
}

/** The first matching rule counts. Codes are those of Node, c-ares, OpenSSL, zlib, llhttp and undici. */
const FAILURE_RULES: readonly FailureRule[] = [
  { type: 'name_not_found', codes: /^(ENOTFOUND|ENODATA)$/, text: 'is not known. Check its spelling.' },
  {
    type: 'connection_failed',
    codes: /^(EAI_|ESERVFAIL|ETIMEOUT)/,
    text: 'could not be looked up just now. Try again later.',
  },
  {
    type: 'tls_failed',
    codes: /^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/,
    text: 'has an expired certificate. Its operator has to renew it.',
  },
  {
    type: 'tls_failed',
    codes: /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    text: 'has a certificate for another name. Check the host in the URL.',
  },
  {
    type: 'tls_failed',
    codes: /^(CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|INVALID_CA)/,
    text: 'has an untrusted certificate. To trust its authority, set NODE_EXTRA_CA_CERTS on the server.',
  },
  {
    type: 'tls_failed',
    codes: /^(ERR_TLS_|ERR_SSL_|EPROTO)/,
    text: 'could not make a secure connection. Check the scheme (http or https) and the port in the URL.',
  },
  { type: 'too_large', codes: /^UND_ERR_HEADERS_OVERFLOW$/, text: 'sent more than 64 kB of headers.' },
  {
    type: 'bad_response',
    codes: /^(HPE_|Z_|ERR__ERROR|ERR_BROTLI|ERR_PADDING|ERR_ZLIB|UND_ERR_RES)/,
    text: 'sent a malformed answer.',
  },
  { type: 'connection_failed', codes: /^ECONNREFUSED$/, text: 'refused the connection. Check the port in the URL.' },
  {
    type: 'connection_failed',
    codes: /^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/,
    text: 'did not accept the connection in time. Check the host and the port in the URL.',
  },
  {
    type: 'connection_failed',
    codes: /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|ERR_STREAM_PREMATURE_CLOSE)$/,
    text: 'closed the connection before the answer was complete. Try again later.',
  },
]

const DEFAULT_FAILURE: Omit<FailureRule, 'codes'> = { type: 'connection_failed', text: 'could not be reached.' }

/** Returns the code of an error, or of the first nested error that has a code. */
function findErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { name, code, errors, cause } = error as Record<'name' | 'code' | 'errors' | 'cause', unknown>
  if (Array.isArray(errors) && errors.length > 0) return findErrorCode(errors[0])
  // Only the compiled parser sets a code.
  if (name === 'HTTPParserError') return 'HPE_'
  return typeof code === 'string' ? code : findErrorCode(cause)
}

/** Returns an error for the caller. The error reveals only the host and the port of the request. */
export function toRequestError(error: unknown, target: OutgoingTarget, mask: SecretMask): NodeError {
  if (error instanceof NodeError) return error
  if (error instanceof RefusedAddressError) return addressRefusedError(target, error)
  if (error instanceof UnknownEncoding) return notUnderstood(error, mask)
  const code = findErrorCode(error)
  const { type, text } = FAILURE_RULES.find(({ codes }) => codes.test(code)) ?? DEFAULT_FAILURE
  const detail = error instanceof Error ? error.message : 'no error was given'
  return new NodeError(`"${target.shown}" ${text}`, type, { cause: new Error(mask(`${code}: ${detail}`)) })
}

/** The mask is applied before the text is cut, because it cannot find a secret of which only the beginning is left. */
function notUnderstood({ encoding }: UnknownEncoding, mask: SecretMask): NodeError {
  const text = `The answer is compressed as ${JSON.stringify(truncateValue(mask(encoding)))}, which is not supported.`
  return new NodeError(`${text} Do not set Accept-Encoding.`, 'bad_response')
}

export function requestTimeoutError(host: string, timeout_ms: number): NodeError {
  return createTimeoutError(`"${host}" did not answer in full`, timeout_ms)
}

export function connectionWaitTimeoutError(host: string, timeout_ms: number): NodeError {
  return createTimeoutError(`Other requests to "${host}" used all connections, and none became free`, timeout_ms)
}

function createTimeoutError(what: string, timeout_ms: number): NodeError {
  const seconds = (timeout_ms / 1000).toLocaleString('en', { maximumFractionDigits: 3 })
  const cure = 'Try again later, or allow more with request_timeout_seconds.'
  return new NodeError(`${what} within ${seconds} s. ${cure}`, 'http_timeout')
}
