// What the tests of chat share: a provider that the test controls piece by piece, threads, and a client that joins
// pieces.
import assert from 'node:assert/strict'
import type { Message, Thread } from '../../generated/types.ts'
import type { CompletionPart, CompletionRequest, Provider, ProviderContext } from '../../src/models/provider.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer, type TestSettings, until } from '../helpers/server.ts'
import type { Frame } from '../helpers/socket.ts'

/** A running answer, whose parts the test sends. */
export interface Led {
  readonly request: CompletionRequest
  readonly signal: AbortSignal
  say(...texts: string[]): void
  give(...parts: CompletionPart[]): void
  /** With 10 input tokens and 5 output tokens. */
  end(finish_reason?: 'stop' | 'length' | 'tool_calls'): void
  fail(error: unknown): void
  /** Whether the answer is no longer read. */
  ended: boolean
}

export interface LedProvider extends Provider {
  readonly answers: Led[]
  /** Waits for the answer with this number, counted from 0. */
  answer(at: number): Promise<Led>
}

export const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** The answers of `led/model` come from the test. */
export function ledProvider(): LedProvider {
  const answers: Led[] = []
  return {
    name: 'led',
    title: 'Led by the test',
    kind: 'openai_compatible',
    credential: null,
    answers,
    models: async () => [
      {
        id: 'led/model',
        name: 'model',
        title: 'model',
        tasks: ['chat'],
        price: { currency: 'USD', per_request: 0, per_million_input_tokens: 1, per_million_output_tokens: 2 },
        max_output_tokens: null,
      },
    ],
    countTokens: (text) => Math.ceil(text.length / 4),
    complete(request, context) {
      const led = new LedAnswer(request, context)
      answers.push(led)
      return led.parts()
    },
    answer: (at) => until(`the answer ${at}`, () => answers[at]),
  }
}

class LedAnswer implements Led {
  readonly request: CompletionRequest
  readonly signal: AbortSignal
  ended = false
  readonly #given: (CompletionPart | { error: unknown })[] = []
  #more = Promise.withResolvers<void>()

  constructor(request: CompletionRequest, { signal }: ProviderContext) {
    this.request = request
    this.signal = signal
    signal.addEventListener('abort', () => this.#more.resolve())
  }

  say(...texts: string[]): void {
    this.give(...texts.map((text) => ({ type: 'text', text }) as const))
  }

  give(...parts: CompletionPart[]): void {
    this.#given.push(...parts)
    this.#more.resolve()
  }

  end(finish_reason: 'stop' | 'length' | 'tool_calls' = 'stop'): void {
    this.give({ type: 'end', usage: { input_tokens: 10, output_tokens: 5, cost: null }, finish_reason })
  }

  fail(error: unknown): void {
    this.#given.push({ error })
    this.#more.resolve()
  }

  async *parts(): AsyncGenerator<CompletionPart, void, void> {
    try {
      for (;;) {
        const next = this.#given.shift()
        if (!next) {
          this.signal.throwIfAborted()
          await this.#more.promise
          this.#more = Promise.withResolvers()
        } else if ('error' in next) throw next.error
        else {
          yield next
          if (next.type === 'end') return
        }
      }
    } finally {
      this.ended = true
    }
  }
}

export interface Bench extends AsyncDisposable {
  readonly server: TestServer
  readonly led: LedProvider
}

export async function startChat(settings: TestSettings = {}): Promise<Bench> {
  const led = ledProvider()
  const config = { ws_rate_limit_disabled: true, ...settings.config }
  const server = await startServer({ ...settings, providers: [led, ...(settings.providers ?? [])], config })
  return { server, led, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

export async function newThread(server: { url: string }, title?: string): Promise<string> {
  const { status, body, text } = await call<Thread>(server, 'POST', '/api/threads', { body: title ? { title } : {} })
  assert.equal(status, 201, text)
  return body.id
}

export async function threadOf(server: { url: string }, id: string): Promise<Thread> {
  const { status, body, text } = await call<Thread>(server, 'GET', `/api/threads/${id}`)
  assert.equal(status, 200, text)
  return body
}

export async function messagesOf(server: { url: string }, id: string): Promise<Message[]> {
  const { status, body, text } = await call<Message[]>(server, 'GET', `/api/threads/${id}/messages?limit=500`)
  assert.equal(status, 200, text)
  body.forEach(({ sequence }, at) => {
    assert.equal(sequence, at + 1, 'messages are numbered from 1 without gaps')
  })
  return body
}

/** Each as `role status: content`. */
export function lines(messages: readonly Message[]): string[] {
  return messages.map(({ role, status, content }) => `${role} ${status}: ${content}`)
}

/** A client's state of a thread by the rules of the contract, from any number of sockets. */
export class Reader {
  /** By sequence. */
  readonly stored = new Map<number, Message>()
  readonly written = new Map<number, string>()
  /** Sequences whose last piece has arrived. */
  readonly done = new Set<number>()

  get last(): number {
    return Math.max(0, ...this.stored.keys())
  }

  take(frame: Frame): void {
    if (frame.type === 'message') {
      const message = frame.message as unknown as Message
      this.stored.set(message.sequence, message)
    }
    if (frame.type !== 'chunk' || frame.thread_id === undefined || frame.thinking === true) return
    const { sequence, offset, content } = frame as unknown as { sequence: number; offset: number; content: string }
    const known = this.written.get(sequence) ?? ''
    assert.ok(offset <= known.length, `a piece at ${offset} leaves a gap behind ${known.length}`)
    const again = known.slice(offset, offset + content.length)
    assert.equal(again, content.slice(0, again.length), 'what is told again is the same')
    this.written.set(sequence, known + content.slice(known.length - offset))
    if (frame.done === true) this.done.add(sequence)
  }
}
