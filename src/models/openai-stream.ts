// A streamed answer: bytes that come in any pieces, as parts.
import { createParser } from 'eventsource-parser'
import type { UpstreamBody } from '../net/upstream-body.ts'
import { UpstreamFailure } from '../net/upstream-failure.ts'
import { eventValue } from './json-text.ts'
import { OpenAiAnswer } from './openai-answer.ts'
import { type Asked, errorInStream, senseless, unanswered } from './openai-errors.ts'
import { isSignOfLife } from './openai-events.ts'
import type { CompletionPart, ProviderContext } from './provider.ts'

interface Event {
  /** Empty where it has none. */
  readonly name: string
  readonly data: string
}

const DONE = '[DONE]'
/** So much may come without an event in it, in characters. */
const MOST_BETWEEN = 8_388_608

/** To be run to its end, or ended with `return`, which breaks the connection. @throws ProviderError, the signal's reason */
export async function* streamedParts(
  body: UpstreamBody,
  asked: Asked,
  { heard, read }: Pick<ProviderContext, 'heard' | 'read'> = {},
): AsyncGenerator<CompletionPart, void, void> {
  const answer = new OpenAiAnswer(asked, heard)
  let over = false
  try {
    for await (const { name, data } of events(body, asked)) {
      if (isSignOfLife(name)) continue
      if (name === 'error') throw errorInStream(asked, data)
      if (data === DONE) {
        over = true
        body.release()
        break
      }
      yield* answer.take(await eventValue(data, read).catch(() => null))
    }
    if (!over && !answer.finished) throw senseless(asked, 'an answer that breaks off')
    over = true
    yield answer.end()
  } finally {
    if (!over) body.destroy()
  }
}

/** The data of each event that has some. */
async function* events(body: UpstreamBody, asked: Asked): AsyncGenerator<Event, void, void> {
  const found: Event[] = []
  const parser = createParser({ onEvent: ({ event = '', data }) => found.push({ name: event, data }) })
  const decoder = new TextDecoder()
  let between = 0
  for (;;) {
    const step = await nextBytes(body, asked)
    // Some leave the last line without its end.
    const text = step === null ? `${decoder.decode()}\n\n` : decoder.decode(step, { stream: true })
    parser.feed(text)
    between = found.length > 0 ? 0 : between + text.length
    if (between > MOST_BETWEEN) {
      body.destroy()
      throw unanswered(asked, new UpstreamFailure('too_large', 'sent an event that is too large'))
    }
    for (const event of found.splice(0)) if (event.data !== '') yield event
    if (step === null) return
  }
}

/** Null at its end. */
async function nextBytes(body: UpstreamBody, asked: Asked): Promise<Uint8Array | null> {
  try {
    const step = await body.next()
    return step.done ? null : step.value
  } catch (error) {
    throw error instanceof UpstreamFailure ? unanswered(asked, error) : error
  }
}
