// What the host of a run lends to its nodes. The engine hands it on and never looks into it: these are the shapes
// that node code counts on, and whoever runs workflows brings the things themselves.
import { NodeError } from './node-error.ts'
import type { LogSeverity } from './node-type.ts'

export interface Script {
  /** The body of a generator function: it may `return` outputs by name and `yield` items by name. */
  readonly code: string
  /** What the code sees under these names. */
  readonly inputs: Readonly<Record<string, unknown>>
  /** What `Math.random` gives is made from this. */
  readonly seed: number
  readonly signal: AbortSignal
  /** A line that the code wrote to its console. */
  log(severity: LogSeverity, content: string): void
}

export interface CodeSandbox {
  /** Runs code that nobody trusts. Gives what it yields, then what it returns. Throws NodeError where it fails. */
  run(script: Script): AsyncGenerator<Record<string, unknown>, Record<string, unknown>, void>
}

export interface OutgoingRequest {
  readonly method: string
  readonly url: string
  /** Names in any case; a repeated name is written once, its values joined. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Until the whole answer is there, in milliseconds. */
  readonly timeout_ms: number
  /** The longest body that is read, in bytes. */
  readonly max_bytes: number
  /** How many redirects are followed. */
  readonly max_redirects: number
  readonly signal: AbortSignal
}

export interface IncomingResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Where the answer came from, after redirects. */
  readonly url: string
}

export interface OutgoingHttp {
  /** Sends one request to where callers may reach. Throws NodeError where it may not, or where nothing answers. */
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
    run() {
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
