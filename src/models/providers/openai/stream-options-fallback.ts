// Streams tell what was used where they are asked to, with `stream_options`. Servers that do not know the field, and refuse what they do not know
// (older vLLM, Mistral, some versions of Azure), are asked without it: then what was used is counted here.
import { ProviderError } from '../../provider-error.ts'

type RequestBody = string | Uint8Array

export interface StreamOptionsRequest {
  readonly body: RequestBody
  /** The same without `stream_options`; null, or absent, where that would be another request. */
  readonly plain?: () => RequestBody | null | Promise<RequestBody>
}

const STREAM_OPTIONS_FIELD = /\bstream_options\b/

/** Of one server: what it refused once it is not asked again while this process runs. */
export class StreamOptionsFallback {
  #isRefused = false

  /** Asks; and once more, without the wish, where the server refuses that. `send` gives an answer whose head has come, or throws. */
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

/** Nobody has begun to answer then, and nothing is paid for. */
function isStreamOptionsRefusal(error: unknown): boolean {
  if (!(error instanceof ProviderError) || error.fault !== 'rejected') return false
  return STREAM_OPTIONS_FIELD.test(error.param ?? '') || STREAM_OPTIONS_FIELD.test(error.message)
}
