// HTTP requests that leave the process.

export interface OutgoingRequest {
  /** GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS. */
  readonly method: string
  /** http or https. User name and password in the URL are sent as an Authorization header. */
  readonly url: string
  /** Names in any case. Headers of the connection itself, such as Host and Content-Length, are refused. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Time limit until the whole response has arrived, including redirects, in milliseconds. */
  readonly timeout_ms: number
  /** The longest body that is accepted, in bytes after decompression. */
  readonly max_bytes: number
  /** The limit of redirects. 0: the redirect itself is the response. */
  readonly max_redirects: number
  /** Values in the request that are sent to no other origin and shown in no message. */
  readonly secrets: readonly string[]
  /** Whether the body contains a secret in any form. Such a body is sent to no other origin. */
  readonly secret_body: boolean
  readonly signal: AbortSignal
  /** Reports changes of the bytes of the response held in memory; the sum is 0 once it has arrived or failed. */
  onBytesHeld?(bytes: number): void
}

export interface IncomingResponse {
  readonly status: number
  /** Names in lower case. Values of one name are joined by ", ", those of Set-Cookie by a line break. */
  readonly headers: Readonly<Record<string, string>>
  /** Decompressed. */
  readonly body: Uint8Array
  /** The URL of the response, after redirects. */
  readonly url: string
}

export interface OutgoingHttp {
  /**
   * Sends one request to an allowed address. Rejects with the signal's reason if it aborts.
   * @throws NodeError `address_refused`, `bad_header`, `bad_response`, `bad_url`, `connection_failed`, `http_timeout`, `name_not_found`,
   * `redirect_refused`, `tls_failed`, `too_large`, `too_many_redirects`, `unavailable`
   */
  send(request: OutgoingRequest): Promise<IncomingResponse>
}
