// Parses server-sent events (WHATWG HTML, section 9.2) as far as a client of jobs needs them: ids, data and the reconnection time.

import { raceAbort } from '../abortable-waits.ts'
import { networkError } from '../errors.ts'

export interface ServerSentEvent {
  /** The field `id`, or null where this event has none. */
  id: string | null
  data: string
}

/** Yields the text of a body as it arrives, until it is silent for `silence_ms`. @throws NETWORK_ERROR, and the signal's reason */
async function* readTextChunks(
  body: ReadableStream<Uint8Array> | null,
  silence_ms: number,
  signal?: AbortSignal,
): AsyncGenerator<string, void, void> {
  if (!body) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await raceAbort(readWithIdleTimeout(reader, silence_ms), signal)
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    // A reader that leaves early does not need the rest.
    void reader.cancel().catch(() => {})
  }
}

function readWithIdleTimeout(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silence_ms: number,
): ReturnType<typeof reader.read> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(networkError('The stream of events sent nothing for too long.')), silence_ms)
    reader
      .read()
      .then(resolve, (error: unknown) => reject(networkError('The stream of events broke.', error)))
      .finally(() => clearTimeout(timer))
  })
}

/** Yields the events of a body. `onRetry` gets the reconnection time that the server asks for, in milliseconds. */
export async function* readServerSentEvents(
  body: ReadableStream<Uint8Array> | null,
  silence_ms: number,
  onRetry: (ms: number) => void,
  signal?: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, void> {
  let event = new PendingEvent()
  for await (const line of splitLines(readTextChunks(body, silence_ms, signal))) {
    if (line === '') {
      if (event.data.length > 0) yield { id: event.id, data: event.data.join('\n') }
      event = new PendingEvent()
      continue
    }
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') event.data.push(value)
    if (name === 'id') event.id = value
    if (name === 'retry' && /^\d+$/.test(value)) onRetry(Number(value))
  }
}

class PendingEvent {
  id: string | null = null
  readonly data: string[] = []
}

/** Lines end with CR, LF or both. A CR at the end of a chunk may be the first half of a line end. */
async function* splitLines(parts: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  let rest: string[] = []
  let half = false
  for await (const part of parts) {
    const text = half && part.startsWith('\n') ? part.slice(1) : part
    if (part === '') continue
    half = part.endsWith('\r')
    const found = text.split(/\r\n|\r|\n/)
    for (const line of found.slice(0, -1)) {
      yield [...rest, line].join('')
      rest = []
    }
    rest.push(found.at(-1)!)
  }
}
