// One HTTP exchange of the suite. It has a deadline and a size limit, and ends when the suite does.
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import { SuiteStoppedError } from './check-outcomes.ts'

/** The most bytes of one answer or stream. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024

export interface ExchangeRequest extends RequestOptions {
  secure: boolean
  payload: string | Uint8Array | null
}

export interface ExchangeBounds {
  /** The time limit of the whole exchange, in milliseconds. */
  ms: number
  stop: AbortSignal
}

/** Sends a request, and returns the result of `read`. @throws SuiteStoppedError */
export async function exchangeHttp<Read>(
  sending: ExchangeRequest,
  { ms, stop }: ExchangeBounds,
  read: (incoming: IncomingMessage) => Promise<Read>,
): Promise<Read> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Error(`no complete answer within ${ms} ms`)), ms)
  const ends = AbortSignal.any([stop, late.signal])
  try {
    if (ends.aborted) throw toAbortError(ends)
    return await read(await openExchange(sending, ends))
  } finally {
    clearTimeout(timer)
  }
}

function openExchange({ secure, payload, ...options }: ExchangeRequest, ends: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let answered: IncomingMessage | null = null
    const outgoing = (secure ? secureRequest : plainRequest)(options, (incoming) => {
      answered = incoming
      resolve(incoming)
    })
    ends.addEventListener('abort', () => (answered ?? outgoing).destroy(toAbortError(ends)), { once: true })
    outgoing.on('error', reject)
    outgoing.end(payload ?? undefined)
  })
}

/** Returns the reason of an aborted exchange as an error. */
export function toAbortError({ reason }: AbortSignal): Error {
  return reason instanceof Error && reason.name === 'Error' ? reason : new SuiteStoppedError()
}

/** Yields the chunks of an answer, up to a limit. */
export async function* readBoundedChunks(incoming: IncomingMessage, most = MAX_ANSWER_BYTES): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > most) throw new Error(`an answer of more than ${most} bytes`)
    yield chunk
  }
}

export async function readAllBytes(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of readBoundedChunks(incoming)) chunks.push(chunk)
  return Buffer.concat(chunks)
}
