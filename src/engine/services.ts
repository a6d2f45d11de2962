// What the host of a run lends to its nodes. The engine hands it on and never looks into it: these are the shapes
// that node code counts on, and whoever runs workflows brings the things themselves.
import { NodeError } from './node-error.ts'

export interface Script {
  /** The body of an asynchronous generator function: it may `return` outputs by name and `yield` items by name. */
  readonly code: string
  /** What the code sees under these names. Plain values: what JSON can say. */
  readonly inputs: Readonly<Record<string, unknown>>
  /** What `Math.random` gives is made from this. */
  readonly seed: number
  /** How long the code may run until its result, or until its next item, in milliseconds. */
  readonly time_limit_ms: number
  /** How much memory all its values may take together, in megabytes. */
  readonly memory_limit_mb: number
  /** Whoever the code runs for: owners get their turns one after the other. */
  readonly owner?: object | string
  /** Ends the code wherever it is. */
  readonly signal: AbortSignal
  /** A line that the code wrote to its console. */
  log(severity: 'debug' | 'info' | 'warning' | 'error', content: string): void
}

/**
 * Runs code that nobody trusts. Both throw NodeError where the code fails: `code_error`, `code_timeout`, `code_memory`,
 * `code_stack`, `code_output`; or `bad_input`, `too_large`, `too_deep`, `code_busy`, `unavailable`; and the signal's reason.
 */
export interface CodeSandbox {
  /** What the code returns. It may not yield. */
  call(script: Script): Promise<Record<string, unknown>>
  /** What it yields, then what it returns. Must be run to its end, or ended with `return`. */
  stream(script: Script): AsyncGenerator<Record<string, unknown>, Record<string, unknown>, void>
}

export interface OutgoingRequest {
  /** GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS. */
  readonly method: string
  /** http or https. A user name and password in it are sent as an Authorization header. */
  readonly url: string
  /** Names in any case. Those that belong to the connection, such as Host and Content-Length, are refused. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Until the whole answer is there, redirects included, in milliseconds. */
  readonly timeout_ms: number
  /** The longest body that is read, in bytes, counted after decompression. */
  readonly max_bytes: number
  /** How many redirects are followed. 0: the redirect is the answer. */
  readonly max_redirects: number
  /** Values in the request that go to no other origin, and that no message shows. */
  readonly secrets: readonly string[]
  /** Whether the body was made with one of them, in whatever form. Then it is sent to no other origin. */
  readonly secret_body: boolean
  readonly signal: AbortSignal
}

export interface IncomingResponse {
  readonly status: number
  /** Names in lower case. Values of one name are joined by ", ", those of Set-Cookie by a line break. */
  readonly headers: Readonly<Record<string, string>>
  /** Decompressed. */
  readonly body: Uint8Array
  /** Where the answer came from, after redirects. */
  readonly url: string
}

export interface OutgoingHttp {
  /**
   * Sends one request to where callers may reach. Rejects with the signal's reason where that aborts.
   * @throws NodeError `address_refused`, `bad_header`, `bad_response`, `bad_url`, `connection_failed`, `http_timeout`,
   * `name_not_found`, `redirect_refused`, `tls_failed`, `too_large`, `too_many_redirects`, `unavailable`
   */
  send(request: OutgoingRequest): Promise<IncomingResponse>
}

export interface NodeServices {
  readonly sandbox: CodeSandbox
  readonly http: OutgoingHttp
  /** A secret of whoever runs the workflow, or null where there is none of that name. */
  secret(name: string): Promise<string | null>
}

function missing(what: string): NodeError {
  return new NodeError(`There is no ${what} where this workflow runs.`, 'unavailable')
}

/** For runs whose host lends nothing. */
export const noServices: NodeServices = {
  sandbox: {
    async call() {
      throw missing('sandbox for code')
    },
    stream() {
      throw missing('sandbox for code')
    },
  },
  http: {
    async send() {
      throw missing('way to send requests')
    },
  },
  async secret() {
    return null
  },
}
