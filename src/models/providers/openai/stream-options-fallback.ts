// Requests the usage of a stream with `stream_options`. Servers that refuse the unknown field (older vLLM, Mistral, some versions of Azure) get the
// request without it: then the usage is counted here.
import { ProviderError } from '../../provider-error.ts'

type RequestBody = string | Uint8Array

export interface StreamOptionsRequest {
  readonly body: RequestBody
  /** The body without `stream_options`; null or absent where that would change the request. */
  readonly plain?: () => RequestBody | null | Promise<RequestBody>
}

const STREAM_OPTIONS_FIELD = /\bstream_options\b/

/** The fallback of one server: after one refusal the field is not sent again while this process runs. */
export class StreamOptionsFallback {
  #isRefused = false

  /** Sends the request, and again without the field where the server refuses it. `send` resolves with the head of an answer, or throws. */
  async send<Reply>(
    { body, plain }: StreamOptionsRequest,
    send: (body: RequestBody) => Promise<Reply>,
  ): Promise<Reply> {
    const known = this.#isRefused ? await plain?.() : null
    if (known) return await send(known)
    try {
      return await send(body)
    } catch (error) {
      const other = isStreamOptionsRefusal(error) ? await plain?.() : null
      if (!other) throw error
      const reply = await send(other)
      this.#isRefused = true
      return reply
    }
  }
}

/** After this refusal a second request is safe: no answer has begun, and nothing was charged. */
function isStreamOptionsRefusal(error: unknown): boolean {
  if (!(error instanceof ProviderError) || error.fault !== 'rejected') return false
  return STREAM_OPTIONS_FIELD.test(error.param ?? '') || STREAM_OPTIONS_FIELD.test(error.message)
}
