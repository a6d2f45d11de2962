// The provider that is always there: its model `builtin/echo` says the last message of the user again, offline and the same each time.
// It is for first runs and tests, and costs nothing.
import { setImmediate } from 'node:timers/promises'
import { finish, type Steps } from '../time-slices.ts'
import { textOf } from './message-text.ts'
import type { CompletionPart, CompletionRequest, Model, Provider, ProviderContext } from './provider.ts'
import { refuseUnsupported } from './supported.ts'
import { notTaken } from './vendor-refusals.ts'

const echo: Model = {
  id: 'builtin/echo',
  name: 'echo',
  title: 'Echo (says your message again, offline; not a language model)',
  tasks: ['chat'],
  price: { currency: 'USD', per_request: 0, per_million_input_tokens: 0, per_million_output_tokens: 0 },
  max_output_tokens: null,
}

/** So many pieces come in one turn of the event loop: an answer may be long. */
const PIECES_AT_ONCE = 64

/** Words with what stands around them; together they are the text. */
const PIECE = /\s*\S+(?:\s+$)?|\s+$/g

function* pieces(text: string): Generator<string, void, void> {
  for (const [piece] of text.matchAll(PIECE)) yield piece
}

/** So many words are counted in one turn of the event loop. */
const COUNTED_AT_ONCE = 4_096

/** Counts the words of a text, which are its tokens, and pauses now and then. */
function* counting(text: string): Steps<number> {
  let count = 0
  for (const _ of pieces(text)) if (++count % COUNTED_AT_ONCE === 0) yield
  return count
}

function countTokens(text: string): number {
  return finish(counting(text))
}

/** The same for texts of any length: others have their turns meanwhile. */
async function countedInTurns(text: string, signal: AbortSignal): Promise<number> {
  const steps = counting(text)
  let step = steps.next()
  while (!step.done) {
    await setImmediate()
    signal.throwIfAborted()
    step = steps.next()
  }
  return step.value
}

function lastOfUser(messages: CompletionRequest['messages']): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last ? textOf(last) : ''
}

/** Without any choice, there is nothing that those of chance could change. */
const HONOURED = { fields: ['max_completion_tokens', 'max_tokens', 'stop', 'seed', 'temperature', 'top_p'] }

/** Of a text that ends the answer, in characters. The search for a longer one may compare each place of a message with all of it. */
const LONGEST_STOP = 200

/** The text before the first of what ends it. Each is sought in a turn of its own: the text may be long. */
async function stopped(text: string, stop: CompletionRequest['stop'], signal: AbortSignal): Promise<string> {
  let first = text.length
  for (const end of [stop ?? []].flat()) {
    if (end.length > LONGEST_STOP)
      throw notTaken('builtin', 'stop', `takes no text of more than ${LONGEST_STOP} characters that ends the answer`)
    await setImmediate()
    signal.throwIfAborted()
    const at = text.indexOf(end)
    if (at >= 0) first = Math.min(first, at)
  }
  return text.slice(0, first)
}

async function* complete(
  request: CompletionRequest,
  { signal }: ProviderContext,
): AsyncGenerator<CompletionPart, void, void> {
  refuseUnsupported(request, HONOURED, 'builtin')
  const { messages, max_completion_tokens, max_tokens, stop } = request
  const most = max_completion_tokens ?? max_tokens
  let given = 0
  let cut = false
  for (const text of pieces(await stopped(lastOfUser(messages), stop, signal))) {
    cut = given === most
    if (cut) break
    if (given % PIECES_AT_ONCE === 0) await setImmediate()
    signal.throwIfAborted()
    given++
    yield { type: 'text', text }
  }
  let input_tokens = 0
  for (const message of messages) input_tokens += await countedInTurns(textOf(message), signal)
  const usage = { input_tokens, output_tokens: given, cost: 0 }
  yield { type: 'end', usage, finish_reason: cut ? 'length' : 'stop' }
}

export const builtinProvider: Provider = {
  name: 'builtin',
  title: 'Built in',
  kind: 'builtin',
  refuses: ['tools'],
  credential: null,
  models: async () => [echo],
  complete,
  countTokens,
}
