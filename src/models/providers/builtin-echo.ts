// The built-in provider. Its model `builtin/echo` repeats the user's last message, offline, deterministic and free, for first runs and tests.
import { setImmediate } from 'node:timers/promises'
import { describeProvider } from '../../config/model-providers.ts'
import { runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { joinMessageText } from '../calls/message-text.ts'
import type { CompletionPart, CompletionRequest, Model, Provider, ProviderContext } from '../provider.ts'
import { createUnsupportedError } from './shared/unsupported-error.ts'
import { rejectUnsupportedFields } from './shared/unsupported-fields.ts'

const { name: PROVIDER_NAME, title, kind } = describeProvider('builtin')

const ECHO_MODEL: Model = {
  id: `${PROVIDER_NAME}/echo`,
  name: 'echo',
  title: 'Echo (repeats your message, offline; not a language model)',
  tasks: ['chat'],
  price: { currency: 'USD', per_request: 0, per_million_input_tokens: 0, per_million_output_tokens: 0 },
  max_output_tokens: null,
}

/** Pieces in one turn of the event loop: an answer may be long. */
const PIECES_PER_TURN = 64

/** A word with the space around it; all pieces together are the text. */
const WORD_PIECE = /\s*\S+(?:\s+$)?|\s+$/g

function* splitIntoPieces(text: string): Generator<string, void, void> {
  for (const [piece] of text.matchAll(WORD_PIECE)) yield piece
}

/** Words that are counted in one turn of the event loop. */
const WORDS_PER_STEP = 4_096

/** Counts the words of a text in steps. A word is a token of this model. */
function* countTokensSteps(text: string): Steps<number> {
  let count = 0
  for (const _ of splitIntoPieces(text)) if (++count % WORDS_PER_STEP === 0) yield
  return count
}

function countWords(text: string): number {
  return runToCompletion(countTokensSteps(text))
}

/** Counts tokens of a text of any length without blocking the event loop. */
async function countTokensInTurns(text: string, signal: AbortSignal): Promise<number> {
  const steps = countTokensSteps(text)
  let step = steps.next()
  while (!step.done) {
    await setImmediate()
    signal.throwIfAborted()
    step = steps.next()
  }
  return step.value
}

function lastUserText(messages: CompletionRequest['messages']): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last ? joinMessageText(last) : ''
}

/** The sampling fields are accepted because they cannot change a deterministic answer. */
const SUPPORTED_FEATURES = { fields: ['max_completion_tokens', 'max_tokens', 'stop', 'seed', 'temperature', 'top_p'] }

/** In characters, of a `stop` string. The search for a longer one may compare each position of a message with the whole string. */
const MAX_STOP_LENGTH = 200

/** The text before the first `stop` string. Each string is searched in its own turn of the event loop, since the text may be long. */
async function cutAtStop(text: string, stop: CompletionRequest['stop'], signal: AbortSignal): Promise<string> {
  let first = text.length
  for (const end of [stop ?? []].flat()) {
    if (end.length > MAX_STOP_LENGTH)
      throw createUnsupportedError(
        PROVIDER_NAME,
        'stop',
        `takes no \`stop\` string of more than ${MAX_STOP_LENGTH} characters`,
      )
    await setImmediate()
    signal.throwIfAborted()
    const at = text.indexOf(end)
    if (at >= 0) first = Math.min(first, at)
  }
  return text.slice(0, first)
}

async function* streamEcho(
  request: CompletionRequest,
  { signal }: ProviderContext,
): AsyncGenerator<CompletionPart, void, void> {
  rejectUnsupportedFields(request, SUPPORTED_FEATURES, PROVIDER_NAME)
  const { messages, max_completion_tokens, max_tokens, stop } = request
  const maxTokens = max_completion_tokens ?? max_tokens
  let sentTokens = 0
  let isTruncated = false
  for (const text of splitIntoPieces(await cutAtStop(lastUserText(messages), stop, signal))) {
    isTruncated = sentTokens === maxTokens
    if (isTruncated) break
    if (sentTokens % PIECES_PER_TURN === 0) await setImmediate()
    signal.throwIfAborted()
    sentTokens++
    yield { type: 'text', text }
  }
  let input_tokens = 0
  for (const message of messages) input_tokens += await countTokensInTurns(joinMessageText(message), signal)
  const usage = { input_tokens, output_tokens: sentTokens, cost: 0 }
  yield { type: 'end', usage, finish_reason: isTruncated ? 'length' : 'stop' }
}

export const builtinProvider: Provider = {
  name: PROVIDER_NAME,
  title,
  kind,
  unsupported_fields: ['tools'],
  credential: null,
  models: async () => [ECHO_MODEL],
  complete: streamEcho,
  countTokens: countWords,
}
