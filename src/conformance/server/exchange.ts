// One HTTP exchange of the suite: from the request to the last byte it has one deadline and a bound of size, and it ends when the judgement
// does.
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import { Stopped } from './verdicts.ts'

/** The most bytes of one answer or stream. */
export const MOST_BYTES = 64 * 1024 * 1024

export interface Sending extends RequestOptions {
  secure: boolean
  payload: string | Uint8Array | null
}

export interface Bounds {
  /** How long all of it may take. */
  ms: number
  stop: AbortSignal
}

/** Sends, and gives what `read` makes of the answer. @throws Stopped */
export async function exchange<Read>(
  sending: Sending,
  { ms, stop }: Bounds,
  read: (incoming: IncomingMessage) => Promise<Read>,
): Promise<Read> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Error(`no whole answer within ${ms} ms`)), ms)
  const ends = AbortSignal.any([stop, late.signal])
  try {
    if (ends.aborted) throw whyOf(ends)
    return await read(await begun(sending, ends))
  } finally {
    clearTimeout(timer)
  }
}

function begun({ secure, payload, ...options }: Sending, ends: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let answered: IncomingMessage | null = null
    const outgoing = (secure ? secureRequest : plainRequest)(options, (incoming) => {
      answered = incoming
      resolve(incoming)
    })
    ends.addEventListener('abort', () => (answered ?? outgoing).destroy(whyOf(ends)), { once: true })
    outgoing.on('error', reject)
    outgoing.end(payload ?? undefined)
  })
}

/** Why an exchange has been ended, as an error. */
export function whyOf({ reason }: AbortSignal): Error {
  return reason instanceof Error && reason.name === 'Error' ? reason : new Stopped()
}

/** The chunks of an answer, as long as they are not too many. */
export async function* bounded(incoming: IncomingMessage, most = MOST_BYTES): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > most) throw new Error(`an answer of more than ${most} bytes`)
    yield chunk
  }
}

export async function bytesOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of bounded(incoming)) chunks.push(chunk)
  return Buffer.concat(chunks)
}
