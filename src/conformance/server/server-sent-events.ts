// A parser of server-sent events (WHATWG HTML, server-sent events).
import type { IncomingMessage } from 'node:http'
import { readBoundedChunks } from './http-exchange.ts'

export interface ServerSentEvent {
  id: string | null
  event: string
  data: string
}

/** Yields each event of a stream, without comments. */
export async function* readServerSentEvents(incoming: IncomingMessage): AsyncGenerator<ServerSentEvent> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of readBoundedChunks(incoming)) {
    text = (text + decoder.decode(chunk, { stream: true })).replaceAll('\r\n', '\n')
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = parseEventBlock(text.slice(0, end))
      text = text.slice(end + 2)
      if (event) yield event
    }
  }
}

function parseEventBlock(block: string): ServerSentEvent | null {
  const event: ServerSentEvent = { id: null, event: 'message', data: '' }
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = line.match(/^([^:]*): ?(.*)$/s) ?? []
    if (name === 'id') event.id = value
    else if (name === 'event') event.event = value
    else if (name === 'data') data.push(value)
  }
  return data.length === 0 ? null : { ...event, data: data.join('\n') }
}
